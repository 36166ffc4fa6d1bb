-- Keys that are rotated, triggers by hand, and what makes the pages of keys and opt-outs fast.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE api_keys ADD COLUMN replaced_at DATETIME;
DROP INDEX api_keys_name;
CREATE UNIQUE INDEX api_keys_name ON api_keys (name_fold) WHERE revoked_at IS NULL AND replaced_at IS NULL;
CREATE INDEX api_keys_organization ON api_keys (organization_id, id);

CREATE TABLE requests_of_all (
    api_key_id    BIGINT NOT NULL, -- 0: a form of the console
    word          TEXT NOT NULL, -- the Idempotency-Key
    digest        BLOB NOT NULL,
    occurrence_id BIGINT NOT NULL REFERENCES occurrences (id) ON DELETE CASCADE,
    created_at    DATETIME NOT NULL,
    PRIMARY KEY (api_key_id, word)
) WITHOUT ROWID;
INSERT INTO requests_of_all SELECT api_key_id, word, digest, occurrence_id, created_at FROM requests;
DROP TABLE requests;
ALTER TABLE requests_of_all RENAME TO requests;
CREATE INDEX requests_occurrence ON requests (occurrence_id);
CREATE INDEX requests_created ON requests (created_at);

DROP INDEX opt_outs_notification;
CREATE INDEX opt_outs_notification ON opt_outs (notification_id, member_id, address_key);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX opt_outs_notification;
CREATE INDEX opt_outs_notification ON opt_outs (notification_id);

CREATE TABLE requests_of_keys (
    api_key_id    BIGINT NOT NULL REFERENCES api_keys (id),
    word          TEXT NOT NULL, -- the Idempotency-Key
    digest        BLOB NOT NULL,
    occurrence_id BIGINT NOT NULL REFERENCES occurrences (id) ON DELETE CASCADE,
    created_at    DATETIME NOT NULL,
    PRIMARY KEY (api_key_id, word)
) WITHOUT ROWID;
INSERT INTO requests_of_keys SELECT api_key_id, word, digest, occurrence_id, created_at FROM requests WHERE api_key_id <> 0;
DROP TABLE requests;
ALTER TABLE requests_of_keys RENAME TO requests;
CREATE INDEX requests_occurrence ON requests (occurrence_id);
CREATE INDEX requests_created ON requests (created_at);

DROP INDEX api_keys_organization;
DROP INDEX api_keys_name;
UPDATE api_keys SET revoked_at = replaced_at WHERE revoked_at IS NULL AND replaced_at IS NOT NULL;
CREATE UNIQUE INDEX api_keys_name ON api_keys (name_fold) WHERE revoked_at IS NULL;
ALTER TABLE api_keys DROP COLUMN replaced_at;
-- +goose StatementEnd
