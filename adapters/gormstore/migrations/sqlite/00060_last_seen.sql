-- When somebody was last seen in an organization whose role they have accepted.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE acceptances ADD COLUMN seen_at DATETIME; -- NULL: not yet
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE acceptances DROP COLUMN seen_at;
-- +goose StatementEnd
