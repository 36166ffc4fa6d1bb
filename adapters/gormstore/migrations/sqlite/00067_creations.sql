-- The index of audit entries about members leaves out their creations, which the time of creation of
-- the member finds: a new member changes one index less.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX audit_entries_changes ON audit_entries (organization_id, object, created_at, id)
    WHERE object LIKE '%/u/%' AND action <> 'member.create';
DROP INDEX audit_entries_about;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE INDEX audit_entries_about ON audit_entries (organization_id, object, created_at, id) WHERE object LIKE '%/u/%';
DROP INDEX audit_entries_changes;
-- +goose StatementEnd
