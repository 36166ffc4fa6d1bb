-- Instances that send through a channel at the same time share how many attempts are under way at once.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE channel_shares ADD COLUMN places BIGINT NOT NULL DEFAULT 0; -- how many the worker may have
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE channel_shares DROP COLUMN places;
-- +goose StatementEnd
