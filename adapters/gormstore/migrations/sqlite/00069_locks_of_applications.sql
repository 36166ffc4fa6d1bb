-- Deleting an application deletes its locks. Without this index, SQLite reads the locks of all organizations for it.

-- +goose Up
CREATE INDEX application_locks_application ON application_locks (application_id);

-- +goose Down
DROP INDEX application_locks_application;
