-- +goose Up
-- +goose StatementBegin
-- How many people would get a message when it was triggered; NULL: they were not counted.
ALTER TABLE occurrences ADD COLUMN recipients INTEGER;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE occurrences DROP COLUMN recipients;
-- +goose StatementEnd
