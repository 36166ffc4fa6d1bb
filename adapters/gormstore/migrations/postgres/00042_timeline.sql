-- What the page of a person shows: the audit entries about them, and the messages that failed.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
-- Whoever is meant by an entry stands behind /u/ in the path of its object.
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_about;
CREATE INDEX CONCURRENTLY audit_entries_about ON audit_entries (organization_id, object, created_at, id) WHERE object LIKE '%/u/%';
DROP INDEX CONCURRENTLY IF EXISTS deliveries_member_failed;
CREATE INDEX CONCURRENTLY deliveries_member_failed ON deliveries (member_id, occurrence_id) WHERE state = 4;
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS deliveries_member_failed;
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_about;
SET lock_timeout = '2s';
