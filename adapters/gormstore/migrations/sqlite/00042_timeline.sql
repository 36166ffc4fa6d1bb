-- What the page of a person shows: the audit entries about them, and the messages that failed.

-- +goose Up
-- +goose StatementBegin
-- Whoever is meant by an entry stands behind /u/ in the path of its object.
CREATE INDEX audit_entries_about ON audit_entries (organization_id, object, created_at, id) WHERE object LIKE '%/u/%';
CREATE INDEX deliveries_member_failed ON deliveries (member_id, occurrence_id) WHERE state = 4;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX deliveries_member_failed;
DROP INDEX audit_entries_about;
-- +goose StatementEnd
