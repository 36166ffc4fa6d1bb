-- An event may carry a JSON Schema of its contexts.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE events ADD COLUMN context_schema TEXT NOT NULL DEFAULT ''; -- JSON text as typed; empty: none
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE events DROP COLUMN context_schema;
-- +goose StatementEnd
