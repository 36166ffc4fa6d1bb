-- Organizations take turns when more scheduled occurrences are due than one unit of work begins. Workers ask about the cancellations of
-- what they hold by their key, so the index by the moment of a cancellation is not used any more.

-- +goose Up
CREATE INDEX occurrences_scheduled_organization ON occurrences (organization_id, send_at, id) WHERE scheduled;
DROP INDEX occurrences_cancelled;

-- +goose Down
CREATE INDEX occurrences_cancelled ON occurrences (cancelled_at) WHERE sweep_at IS NOT NULL AND cancelled_at IS NOT NULL;
DROP INDEX occurrences_scheduled_organization;
