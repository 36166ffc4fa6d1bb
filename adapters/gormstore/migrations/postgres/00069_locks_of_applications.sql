-- Deleting an application deletes its locks. Without this index, PostgreSQL reads the locks of all organizations for it.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS application_locks_application;
CREATE INDEX CONCURRENTLY application_locks_application ON application_locks (application_id);
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS application_locks_application;
SET lock_timeout = '2s';
