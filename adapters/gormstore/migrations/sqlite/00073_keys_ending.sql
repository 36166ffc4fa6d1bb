-- The home page shows the keys of an organization that end soon. Rotation keeps every key that was replaced, so that without this index
-- all of them would be read.

-- +goose Up
CREATE INDEX api_keys_ending ON api_keys (organization_id, expires_at)
    WHERE expires_at IS NOT NULL AND revoked_at IS NULL AND replaced_at IS NULL;

-- +goose Down
DROP INDEX api_keys_ending;
