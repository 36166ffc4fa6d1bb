-- Which API key made a change, since names of keys may be used again. Keys are never deleted, so nothing needs to refer to them.

-- +goose Up
ALTER TABLE audit_entries ADD COLUMN api_key_id BIGINT;

-- +goose Down
ALTER TABLE audit_entries DROP COLUMN api_key_id;
