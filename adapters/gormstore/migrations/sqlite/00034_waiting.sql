-- +goose Up
-- +goose StatementBegin
-- Members whose words a unit of work has left for later. One row is about many: its cost is borne by whoever adds them.
CREATE TABLE member_words_notes (
    id              INTEGER PRIMARY KEY,
    organization_id INTEGER NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    members         TEXT NOT NULL, -- a JSON array of their ids
    size            INTEGER NOT NULL
);
CREATE INDEX member_words_notes_organization ON member_words_notes (organization_id, id);
INSERT INTO member_words_notes (organization_id, members, size) SELECT organization_id, '[' || member_id || ']', 1 FROM member_words_waiting;
DROP TABLE member_words_waiting;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE TABLE member_words_waiting (
    organization_id INTEGER NOT NULL,
    member_id       INTEGER NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, member_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX member_words_waiting_member ON member_words_waiting (member_id);
INSERT INTO member_words_waiting (organization_id, member_id) SELECT DISTINCT m.organization_id, m.id
    FROM member_words_notes n CROSS JOIN json_each(n.members) AS e JOIN members m ON m.id = e.value;
DROP TABLE member_words_notes;
-- +goose StatementEnd
