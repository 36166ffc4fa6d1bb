-- Postgres keeps deliveries in partitions. SQLite has none.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
