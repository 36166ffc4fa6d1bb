-- Which import took a rejected row up that was corrected on the page.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE import_rejects ADD COLUMN corrected_by BIGINT; -- an import; NULL: none has. It may be gone
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE import_rejects DROP COLUMN corrected_by;
-- +goose StatementEnd
