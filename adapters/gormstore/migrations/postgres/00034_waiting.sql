-- +goose Up
-- +goose StatementBegin
-- What an earlier program commits before the table goes is carried over: it waits from here on.
LOCK TABLE member_words_waiting IN ACCESS EXCLUSIVE MODE;
-- Members whose words a unit of work has left for later. One row is about many: its cost is borne by whoever adds them.
CREATE TABLE member_words_notes (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id BIGINT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    members         TEXT NOT NULL, -- a JSON array of their ids
    size            BIGINT NOT NULL
);
CREATE INDEX member_words_notes_organization ON member_words_notes (organization_id, id);
INSERT INTO member_words_notes (organization_id, members, size) SELECT organization_id, '[' || member_id || ']', 1 FROM member_words_waiting;
DROP TABLE member_words_waiting;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE TABLE member_words_waiting (
    organization_id BIGINT NOT NULL,
    member_id       BIGINT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, member_id)
);
CREATE UNIQUE INDEX member_words_waiting_member ON member_words_waiting (member_id);
INSERT INTO member_words_waiting (organization_id, member_id) SELECT DISTINCT m.organization_id, m.id
    FROM member_words_notes n CROSS JOIN LATERAL json_array_elements_text(n.members::json) AS e(value) JOIN members m ON m.id = e.value::bigint;
DROP TABLE member_words_notes;
-- +goose StatementEnd
