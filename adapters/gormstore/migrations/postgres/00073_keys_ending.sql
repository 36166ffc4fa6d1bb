-- The home page shows the keys of an organization that end soon. Rotation keeps every key that was replaced, so that without this index
-- all of them would be read.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS api_keys_ending;
CREATE INDEX CONCURRENTLY api_keys_ending ON api_keys (organization_id, expires_at)
    WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND replaced_at IS NULL;
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS api_keys_ending;
SET lock_timeout = '2s';
