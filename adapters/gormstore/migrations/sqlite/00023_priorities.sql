-- Urgent goes before normal before bulk, and what waits for a channel takes turns. Keys may be limited to what is not urgent.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE events ADD COLUMN priority SMALLINT NOT NULL DEFAULT 0; -- -1 urgent, 0 normal, 1 bulk
ALTER TABLE api_keys ADD COLUMN at_most_normal BOOLEAN NOT NULL DEFAULT FALSE;

ALTER TABLE occurrences ADD COLUMN priority SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE occurrences ADD COLUMN large BOOLEAN NOT NULL DEFAULT TRUE; -- it does not name a few recipients
DROP INDEX occurrences_unexpanded;
CREATE INDEX occurrences_unexpanded ON occurrences (large, priority, organization_id, turn_at, id) WHERE expanded_at IS NULL;

ALTER TABLE deliveries ADD COLUMN priority SMALLINT NOT NULL DEFAULT 0; -- of the occurrence
ALTER TABLE deliveries ADD COLUMN project_id BIGINT NOT NULL DEFAULT 0; -- of the occurrence
-- Its place among what waits for the same channel in the same class for the same project, until it is claimed for the first time.
ALTER TABLE deliveries ADD COLUMN turn BIGINT;
DROP INDEX deliveries_due;
CREATE INDEX deliveries_waiting ON deliveries (channel_id, priority, project_id, turn) WHERE turn IS NOT NULL;
-- What was claimed before and is open: leases, retries, what was given back.
CREATE INDEX deliveries_due ON deliveries (channel_id, priority, next_at) WHERE turn IS NULL AND state < 3;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX deliveries_due;
DROP INDEX deliveries_waiting;
ALTER TABLE deliveries DROP COLUMN turn;
ALTER TABLE deliveries DROP COLUMN project_id;
ALTER TABLE deliveries DROP COLUMN priority;
CREATE INDEX deliveries_due ON deliveries (channel_id, next_at) WHERE state < 3;
DROP INDEX occurrences_unexpanded;
ALTER TABLE occurrences DROP COLUMN large;
ALTER TABLE occurrences DROP COLUMN priority;
CREATE INDEX occurrences_unexpanded ON occurrences (organization_id, turn_at, id) WHERE expanded_at IS NULL;
ALTER TABLE api_keys DROP COLUMN at_most_normal;
ALTER TABLE events DROP COLUMN priority;
-- +goose StatementEnd
