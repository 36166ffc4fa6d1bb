-- +goose NO TRANSACTION

-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS channels_pool;
CREATE INDEX CONCURRENTLY channels_pool ON channels (organization_id, id) WHERE pool <> '';
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS channels_pool;
SET lock_timeout = '2s';
