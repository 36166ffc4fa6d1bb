-- Which API key made a change, since names of keys may be used again (keys are never deleted, so nothing needs to refer to them), and the order
-- in which the log is read, by time. Nearly all entries may be the API's; those that are not have an index of their own.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE audit_entries ADD COLUMN api_key_id BIGINT;
DROP INDEX audit_entries_organization;
CREATE INDEX audit_entries_time ON audit_entries (organization_id, created_at, id);
CREATE INDEX audit_entries_people ON audit_entries (organization_id, created_at, id) WHERE via <> 'API';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX audit_entries_people;
DROP INDEX audit_entries_time;
CREATE INDEX audit_entries_organization ON audit_entries (organization_id, id);
ALTER TABLE audit_entries DROP COLUMN api_key_id;
-- +goose StatementEnd
