-- The body of a template may be Markdown.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE templates ADD COLUMN markdown_body TEXT NOT NULL DEFAULT '';
ALTER TABLE template_versions ADD COLUMN markdown_body TEXT NOT NULL DEFAULT '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE template_versions DROP COLUMN markdown_body;
ALTER TABLE templates DROP COLUMN markdown_body;
-- +goose StatementEnd
