-- The name of a key is unique within its scope, so that nobody learns the names that others use. Organizations have quotas of their own.

-- +goose Up
-- +goose StatementBegin
DROP INDEX api_keys_name;
DROP INDEX api_keys_named;
CREATE UNIQUE INDEX api_keys_name ON api_keys (name_fold, COALESCE(organization_id, 0), COALESCE(project_id, 0), COALESCE(application_id, 0))
    WHERE revoked_at IS NULL AND replaced_at IS NULL;
-- Revoking a name concerns the keys that were replaced as well, which api_keys_name leaves out.
CREATE INDEX api_keys_named ON api_keys (name_fold, COALESCE(organization_id, 0), COALESCE(project_id, 0), COALESCE(application_id, 0));
-- The quotas of an organization that differ from the installation's: a JSON object of numbers.
ALTER TABLE organizations ADD COLUMN quotas TEXT NOT NULL DEFAULT '{}';
-- Measure 3 of hourly_statistics is the bytes of the contexts of a day's occurrences, by the first hour of the day (UTC).
INSERT INTO hourly_statistics (organization_id, hour, measure, part, amount)
SELECT organization_id, CAST(floor(extract(epoch FROM created_at) / 86400) * 24 AS BIGINT), 3, 0, SUM(OCTET_LENGTH(context)) FROM occurrences WHERE expanded_at IS NOT NULL OR cursor_notification > 0 GROUP BY 1, 2;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DELETE FROM hourly_statistics WHERE measure = 3;
ALTER TABLE organizations DROP COLUMN quotas;
DROP INDEX api_keys_named;
DROP INDEX api_keys_name;
UPDATE api_keys SET name = name || ' ' || id, name_fold = name_fold || ' ' || id
    WHERE EXISTS (SELECT 1 FROM api_keys other WHERE other.name_fold = api_keys.name_fold AND other.id < api_keys.id
            AND other.revoked_at IS NULL AND other.replaced_at IS NULL)
        AND revoked_at IS NULL AND replaced_at IS NULL;
CREATE UNIQUE INDEX api_keys_name ON api_keys (name_fold) WHERE revoked_at IS NULL AND replaced_at IS NULL;
CREATE INDEX api_keys_named ON api_keys (name_fold);
-- +goose StatementEnd
