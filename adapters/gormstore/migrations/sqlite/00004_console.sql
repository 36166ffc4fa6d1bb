-- Who signs in to the console, their sessions, what they did, and what makes searching people fast.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE credentials (
    user_id         BIGINT NOT NULL PRIMARY KEY REFERENCES users (id),
    password_hash   TEXT NOT NULL, -- argon2id with its cost and salt
    administrator   BOOLEAN NOT NULL, -- of the installation
    failed_attempts INTEGER NOT NULL,
    locked_until    DATETIME,
    changed_at      DATETIME NOT NULL
);

CREATE TABLE sessions (
    digest         BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the token
    user_id        BIGINT NOT NULL REFERENCES credentials (user_id) ON DELETE CASCADE,
    created_at     DATETIME NOT NULL,
    last_seen_at   DATETIME NOT NULL,
    expires_at     DATETIME NOT NULL,
    remote_address TEXT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expires ON sessions (expires_at);

CREATE TABLE audit_entries (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT REFERENCES organizations (id), -- NULL: of the installation
    actor           TEXT NOT NULL,
    remote_address  TEXT NOT NULL,
    via             TEXT NOT NULL,
    created_at      DATETIME NOT NULL,
    action          TEXT NOT NULL,
    object          TEXT NOT NULL,
    before_state    TEXT NOT NULL, -- a JSON object
    after_state     TEXT NOT NULL
);
CREATE INDEX audit_entries_organization ON audit_entries (organization_id, id);

CREATE INDEX members_locked ON members (organization_id, id) WHERE locked;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX members_locked;
DROP TABLE audit_entries;
DROP TABLE sessions;
DROP TABLE credentials;
-- +goose StatementEnd
