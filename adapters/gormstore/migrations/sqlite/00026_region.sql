-- +goose Up
-- +goose StatementBegin
-- The region of phone numbers without country code, such as DE; empty: they are refused.
ALTER TABLE organizations ADD COLUMN default_region TEXT NOT NULL DEFAULT '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE organizations DROP COLUMN default_region;
-- +goose StatementEnd
