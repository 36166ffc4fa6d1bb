-- On PostgreSQL each trigger with send_at adds a row to the statistics of its day, with a part above those of workers. Purge adds these rows
-- to one of the others, and finds them here.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS hourly_statistics_loose;
CREATE INDEX CONCURRENTLY hourly_statistics_loose ON hourly_statistics (organization_id, hour, measure)
    WHERE part >= 16;
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS hourly_statistics_loose;
SET lock_timeout = '2s';
