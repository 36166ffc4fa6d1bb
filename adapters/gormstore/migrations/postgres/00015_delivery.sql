-- Occurrences are expanded in turn by organization, so that one with thousands of them does not hold up another. Workers say how far
-- the clock of their machine is ahead of the database's, in milliseconds.

-- +goose Up
-- +goose StatementBegin
DROP INDEX occurrences_unexpanded;
CREATE INDEX occurrences_unexpanded ON occurrences (organization_id, turn_at, id) WHERE expanded_at IS NULL;
ALTER TABLE workers ADD COLUMN skew_ms BIGINT NOT NULL DEFAULT 0;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE workers DROP COLUMN skew_ms;
DROP INDEX occurrences_unexpanded;
CREATE INDEX occurrences_unexpanded ON occurrences (turn_at, id) WHERE expanded_at IS NULL;
-- +goose StatementEnd
