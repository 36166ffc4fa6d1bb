-- Passkeys that may have been copied are blocked, and an organization can require a second factor.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE passkeys ADD COLUMN blocked BOOLEAN NOT NULL DEFAULT FALSE; -- its signatures were counted backwards: there may be a copy
ALTER TABLE organizations ADD COLUMN requires_factor BOOLEAN NOT NULL DEFAULT FALSE; -- of whoever has a role there
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE organizations DROP COLUMN requires_factor;
ALTER TABLE passkeys DROP COLUMN blocked;
-- +goose StatementEnd
