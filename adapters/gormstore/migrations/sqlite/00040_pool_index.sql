-- +goose Up
-- +goose StatementBegin
CREATE INDEX channels_pool ON channels (organization_id, id) WHERE pool <> '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX channels_pool;
-- +goose StatementEnd
