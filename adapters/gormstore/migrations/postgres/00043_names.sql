-- The people of an organization in the order of their names: search_sorted.go asks for this expression. The condition holds for everybody: it keeps
-- the index from searches that do not state it, for which it seems as good as a better one while a table is small.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS members_name;
CREATE INDEX CONCURRENTLY members_name ON members (organization_id, LOWER((last_name || ' ' || first_name) COLLATE "C"), id) WHERE last_name >= '';
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS members_name;
SET lock_timeout = '2s';
