-- +goose Up
-- +goose StatementBegin
-- The paths of metadata that members are found by: a JSON array.
ALTER TABLE organizations ADD COLUMN searchable TEXT NOT NULL DEFAULT '[]';
-- What members are found by (users.Words): a word, a space and the beginning of the member's name.
CREATE TABLE member_words (
    organization_id INTEGER NOT NULL,
    word            TEXT NOT NULL,
    member_id       INTEGER NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, word, member_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX member_words_member ON member_words (member_id, word);
-- Members whose words an import has left for later.
CREATE TABLE member_words_waiting (
    organization_id INTEGER NOT NULL,
    member_id       INTEGER NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, member_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX member_words_waiting_member ON member_words_waiting (member_id);
-- Organizations whose members are all being indexed, and the last one who has been.
CREATE TABLE member_words_builds (
    organization_id INTEGER PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    position        INTEGER NOT NULL
);
-- Occurrences are found by their correlation id.
CREATE INDEX occurrences_correlation ON occurrences (organization_id, correlation_id, id) WHERE correlation_id <> '';
INSERT INTO member_words_builds (organization_id, position) SELECT id, 0 FROM organizations;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX occurrences_correlation;
DROP TABLE member_words_builds;
DROP TABLE member_words_waiting;
DROP TABLE member_words;
ALTER TABLE organizations DROP COLUMN searchable;
-- +goose StatementEnd
