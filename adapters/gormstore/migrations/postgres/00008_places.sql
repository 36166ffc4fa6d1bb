-- Keys that are rotated, triggers by hand, and what makes the pages of keys and opt-outs fast.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE api_keys ADD COLUMN replaced_at TIMESTAMPTZ;
DROP INDEX api_keys_name;
CREATE UNIQUE INDEX api_keys_name ON api_keys (name_fold) WHERE revoked_at IS NULL AND replaced_at IS NULL;
CREATE INDEX api_keys_organization ON api_keys (organization_id, id);

-- 0 stands for the forms of the console.
ALTER TABLE requests DROP CONSTRAINT requests_api_key_id_fkey;

DROP INDEX opt_outs_notification;
CREATE INDEX opt_outs_notification ON opt_outs (notification_id, member_id, address_key);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX opt_outs_notification;
CREATE INDEX opt_outs_notification ON opt_outs (notification_id);

DELETE FROM requests WHERE api_key_id = 0;
ALTER TABLE requests ADD CONSTRAINT requests_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys (id);

DROP INDEX api_keys_organization;
DROP INDEX api_keys_name;
UPDATE api_keys SET revoked_at = replaced_at WHERE revoked_at IS NULL AND replaced_at IS NOT NULL;
CREATE UNIQUE INDEX api_keys_name ON api_keys (name_fold) WHERE revoked_at IS NULL;
ALTER TABLE api_keys DROP COLUMN replaced_at;
-- +goose StatementEnd
