-- The pages of an occurrence continue its turns on each channel after its last delivery there. Its deliveries on other channels do not
-- count.

-- +goose Up
ALTER TABLE occurrences ADD COLUMN last_deliveries TEXT NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE occurrences DROP COLUMN last_deliveries;
