-- Organizations take turns when more scheduled occurrences are due than one unit of work begins. Workers ask about the cancellations of
-- what they hold by their key, so the index by the moment of a cancellation is not used any more.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS occurrences_scheduled_organization;
CREATE INDEX CONCURRENTLY occurrences_scheduled_organization ON occurrences (organization_id, send_at, id) WHERE scheduled;
DROP INDEX CONCURRENTLY IF EXISTS occurrences_cancelled;
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS occurrences_cancelled;
CREATE INDEX CONCURRENTLY occurrences_cancelled ON occurrences (cancelled_at) WHERE sweep_at IS NOT NULL AND cancelled_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS occurrences_scheduled_organization;
SET lock_timeout = '2s';
