-- An occurrence may wait for a moment, expire at another one, and be cancelled.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE occurrences ADD COLUMN send_at TIMESTAMPTZ;      -- nothing is sent before; NULL: at once
ALTER TABLE occurrences ADD COLUMN expires_at TIMESTAMPTZ;   -- nothing is sent from then on; NULL: never
ALTER TABLE occurrences ADD COLUMN cancelled_at TIMESTAMPTZ; -- nothing is sent from then on; NULL: it was not cancelled
ALTER TABLE occurrences ADD COLUMN scheduled BOOLEAN NOT NULL DEFAULT FALSE; -- it waits for send_at, which expanded_at holds until then: it is not in the index of those to be expanded
ALTER TABLE occurrences ADD COLUMN sweep_at TIMESTAMPTZ;     -- when its open deliveries are skipped; NULL: never
CREATE INDEX occurrences_scheduled ON occurrences (send_at, id) WHERE scheduled;
CREATE INDEX occurrences_swept ON occurrences (sweep_at, id) WHERE sweep_at IS NOT NULL;
CREATE INDEX occurrences_cancelled ON occurrences (cancelled_at) WHERE sweep_at IS NOT NULL AND cancelled_at IS NOT NULL;
-- What was cancelled, until the occurrence itself says so, and after that. Whoever cancels cannot write to the occurrence, which is written
-- to page by page while its recipients are found. It is not referenced, because that would wait as well.
CREATE TABLE cancellations (
    occurrence_id BIGINT PRIMARY KEY,
    cancelled_at  TIMESTAMPTZ NOT NULL,
    applied       BOOLEAN NOT NULL DEFAULT FALSE -- the occurrence says so
);
CREATE INDEX cancellations_new ON cancellations (occurrence_id) WHERE NOT applied;
-- How old an occurrence is goes by when it was cancelled or begun.
DROP INDEX occurrences_created;
CREATE INDEX occurrences_age ON occurrences ((COALESCE(cancelled_at, send_at, created_at)), id);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX occurrences_age;
CREATE INDEX occurrences_created ON occurrences (created_at);
DROP TABLE cancellations;
DROP INDEX occurrences_cancelled;
DROP INDEX occurrences_swept;
DROP INDEX occurrences_scheduled;
ALTER TABLE occurrences DROP COLUMN sweep_at;
ALTER TABLE occurrences DROP COLUMN scheduled;
ALTER TABLE occurrences DROP COLUMN cancelled_at;
ALTER TABLE occurrences DROP COLUMN expires_at;
ALTER TABLE occurrences DROP COLUMN send_at;
-- +goose StatementEnd
