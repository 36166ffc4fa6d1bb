-- Occurrences, their deliveries, and what decides about them.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE occurrences (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id     BIGINT NOT NULL REFERENCES organizations (id),
    project_id          BIGINT NOT NULL REFERENCES projects (id),
    application_id      BIGINT NOT NULL REFERENCES applications (id),
    event_id            BIGINT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    context             TEXT NOT NULL, -- JSON text as sent
    limit_to            TEXT NOT NULL, -- JSON array of usernames and addresses as sent; empty: everybody
    channels            TEXT NOT NULL, -- JSON array of folded names; empty: every channel
    correlation_id      TEXT NOT NULL,
    created_at          DATETIME NOT NULL,
    -- How far the expansion is. It moves in the transaction that writes the deliveries.
    turn_at             DATETIME NOT NULL, -- when the last page was written: who has waited longest is next
    cursor_notification BIGINT NOT NULL,
    cursor_phase        SMALLINT NOT NULL,    -- 0: the project's channels, 1: the organization's
    cursor_assignment   BIGINT NOT NULL,
    expanded_at         DATETIME
);
CREATE INDEX occurrences_unexpanded ON occurrences (turn_at, id) WHERE expanded_at IS NULL;
CREATE INDEX occurrences_application ON occurrences (application_id, id);
CREATE INDEX occurrences_event ON occurrences (event_id);
CREATE INDEX occurrences_created ON occurrences (created_at);

-- Deliveries outlive the address, the assignment and the member that they went to, so nothing of those is referenced. The occurrence
-- is not either: whoever writes or deletes deliveries holds it, and checking a million rows costs as much as writing them.
CREATE TABLE deliveries (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    occurrence_id   BIGINT NOT NULL,
    notification_id BIGINT NOT NULL,
    member_id       BIGINT NOT NULL,
    assignment_id   BIGINT NOT NULL,
    channel_id      BIGINT NOT NULL,
    protocol        TEXT NOT NULL,
    address         TEXT NOT NULL,
    address_key     TEXT NOT NULL,    -- users.Address.Key
    chosen          BOOLEAN NOT NULL, -- every gate was open when the row was written; never changes
    state           SMALLINT NOT NULL, -- 0 pending, 1 sending, 2 retrying, 3 sent, 4 failed, 5 skipped
    reason          TEXT NOT NULL,
    attempts        INTEGER NOT NULL,
    owner           TEXT NOT NULL,    -- of the lease, while sending
    next_at         DATETIME NOT NULL, -- due, or the end of the lease
    last_error      TEXT NOT NULL,
    created_at      DATETIME NOT NULL,
    finished_at     DATETIME
);
-- The id is the last column of every index here, as of any in SQLite.
-- Once per notification, protocol and address. What was left out does not stand in the way of another assignment.
CREATE UNIQUE INDEX deliveries_once ON deliveries (occurrence_id, notification_id, protocol, address_key) WHERE chosen;
CREATE INDEX deliveries_occurrence ON deliveries (occurrence_id, state);
CREATE INDEX deliveries_due ON deliveries (channel_id, next_at) WHERE state < 3;
CREATE INDEX deliveries_member ON deliveries (member_id, occurrence_id);

CREATE TABLE requests (
    api_key_id    BIGINT NOT NULL REFERENCES api_keys (id),
    word          TEXT NOT NULL, -- the Idempotency-Key
    digest        BLOB NOT NULL,
    occurrence_id BIGINT NOT NULL REFERENCES occurrences (id) ON DELETE CASCADE,
    created_at    DATETIME NOT NULL,
    PRIMARY KEY (api_key_id, word)
) WITHOUT ROWID;
CREATE INDEX requests_occurrence ON requests (occurrence_id);
CREATE INDEX requests_created ON requests (created_at);

CREATE TABLE opt_outs (
    member_id       BIGINT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    notification_id BIGINT NOT NULL REFERENCES notifications (id) ON DELETE CASCADE,
    address_key     TEXT NOT NULL,
    created_at      DATETIME NOT NULL,
    PRIMARY KEY (member_id, notification_id, address_key)
) WITHOUT ROWID;
CREATE INDEX opt_outs_notification ON opt_outs (notification_id);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE opt_outs;
DROP TABLE requests;
DROP TABLE deliveries;
DROP TABLE occurrences;
-- +goose StatementEnd
