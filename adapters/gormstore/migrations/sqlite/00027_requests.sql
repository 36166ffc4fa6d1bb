-- +goose Up
-- +goose StatementBegin
-- Any call may be repeatable, not only triggers; the answer of the others is kept.
CREATE TABLE requests_of_calls (
    api_key_id    BIGINT NOT NULL, -- 0: a form of the console
    word          TEXT NOT NULL, -- the Idempotency-Key
    digest        BLOB NOT NULL,
    occurrence_id BIGINT REFERENCES occurrences (id) ON DELETE CASCADE,
    created_at    DATETIME NOT NULL,
    status        SMALLINT NOT NULL DEFAULT 0, -- of the answer; 0: the occurrence tells
    answer        TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (api_key_id, word)
) WITHOUT ROWID;
INSERT INTO requests_of_calls (api_key_id, word, digest, occurrence_id, created_at)
    SELECT api_key_id, word, digest, occurrence_id, created_at FROM requests;
DROP TABLE requests;
ALTER TABLE requests_of_calls RENAME TO requests;
CREATE INDEX requests_occurrence ON requests (occurrence_id);
CREATE INDEX requests_created ON requests (created_at);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE TABLE requests_of_triggers (
    api_key_id    BIGINT NOT NULL, -- 0: a form of the console
    word          TEXT NOT NULL, -- the Idempotency-Key
    digest        BLOB NOT NULL,
    occurrence_id BIGINT NOT NULL REFERENCES occurrences (id) ON DELETE CASCADE,
    created_at    DATETIME NOT NULL,
    PRIMARY KEY (api_key_id, word)
) WITHOUT ROWID;
INSERT INTO requests_of_triggers SELECT api_key_id, word, digest, occurrence_id, created_at FROM requests WHERE occurrence_id IS NOT NULL;
DROP TABLE requests;
ALTER TABLE requests_of_triggers RENAME TO requests;
CREATE INDEX requests_occurrence ON requests (occurrence_id);
CREATE INDEX requests_created ON requests (created_at);
-- +goose StatementEnd
