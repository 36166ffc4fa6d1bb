-- Which programs work with this schema: those that know at least this migration. A migration that takes something away, on which they
-- rely, raises it.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE installation ADD COLUMN compatible_from INTEGER NOT NULL DEFAULT 38;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE installation DROP COLUMN compatible_from;
-- +goose StatementEnd
