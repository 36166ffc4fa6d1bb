-- On PostgreSQL each trigger with send_at adds a row to the statistics of its day, with a part above those of workers. Purge adds these rows
-- to one of the others, and finds them here.

-- +goose Up
CREATE INDEX hourly_statistics_loose ON hourly_statistics (organization_id, hour, measure)
    WHERE part >= 16;

-- +goose Down
DROP INDEX hourly_statistics_loose;
