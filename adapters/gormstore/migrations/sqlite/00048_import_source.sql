-- What the file of an import was before it became CSV in UTF-8.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE imports ADD COLUMN source TEXT NOT NULL DEFAULT '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE imports DROP COLUMN source;
-- +goose StatementEnd
