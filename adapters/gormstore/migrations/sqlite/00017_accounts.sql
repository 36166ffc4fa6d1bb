-- Accounts that know nothing of each other, roles that count once they are accepted, sessions that know when and how somebody signed in, devices
-- that are known, and wrong passwords by username and place.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE accounts (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id         BIGINT NOT NULL REFERENCES users (id),
    password_hash   TEXT NOT NULL, -- argon2id with its cost and salt; empty: no password
    administrator   BOOLEAN NOT NULL, -- of the installation
    organization_id BIGINT, -- through whose link the password was last set; NULL: none's
    changed_at      DATETIME NOT NULL
);
CREATE INDEX accounts_user ON accounts (user_id);
INSERT INTO accounts (user_id, password_hash, administrator, organization_id, changed_at)
SELECT user_id, password_hash, administrator, organization_id, changed_at FROM credentials ORDER BY user_id;

CREATE TABLE acceptances (
    member_id   BIGINT NOT NULL PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
    account_id  BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE, -- that opens the member's organization
    accepted_at DATETIME NOT NULL
);
CREATE INDEX acceptances_account ON acceptances (account_id);
-- Whoever signed in so far goes on, but for roles of organizations that did not set the password while another one did.
INSERT INTO acceptances (member_id, account_id, accepted_at)
SELECT m.id, a.id, a.changed_at FROM accounts a JOIN members m ON m.user_id = a.user_id
WHERE m.role <> 'member' AND (a.organization_id IS NULL OR a.organization_id = m.organization_id);

CREATE TABLE account_sessions (
    digest           BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the token
    account_id       BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created_at       DATETIME NOT NULL,
    authenticated_at DATETIME NOT NULL, -- when whoever has it last showed who they are
    method           TEXT NOT NULL, -- how
    last_seen_at     DATETIME NOT NULL,
    expires_at       DATETIME NOT NULL,
    remote_address   TEXT NOT NULL,
    device           BLOB NOT NULL -- SHA-256 of the device's token
);
INSERT INTO account_sessions (digest, account_id, created_at, authenticated_at, method, last_seen_at, expires_at, remote_address, device)
SELECT s.digest, a.id, s.created_at, s.created_at, 'password', s.last_seen_at, s.expires_at, s.remote_address, zeroblob(32)
FROM sessions s JOIN accounts a ON a.user_id = s.user_id;
DROP TABLE sessions;
ALTER TABLE account_sessions RENAME TO sessions;
CREATE INDEX sessions_account ON sessions (account_id);
CREATE INDEX sessions_expires ON sessions (expires_at);

CREATE TABLE member_invitations (
    digest       BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the token
    member_id    BIGINT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    installation BOOLEAN NOT NULL, -- an administrator of the installation invites
    expires_at   DATETIME NOT NULL
);
INSERT INTO member_invitations (digest, member_id, installation, expires_at)
SELECT i.digest, m.id, i.installation, i.expires_at FROM invitations i JOIN members m ON m.user_id = i.user_id AND m.organization_id = i.organization_id;
DROP TABLE invitations;
ALTER TABLE member_invitations RENAME TO invitations;
CREATE UNIQUE INDEX invitations_member ON invitations (member_id);
CREATE INDEX invitations_expires ON invitations (expires_at);

CREATE TABLE devices (
    account_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest     BLOB NOT NULL, -- SHA-256 of the token
    seen_at    DATETIME NOT NULL,
    expires_at DATETIME NOT NULL,
    PRIMARY KEY (digest, account_id)
);
CREATE INDEX devices_account ON devices (account_id, seen_at);
CREATE INDEX devices_expires ON devices (expires_at);

CREATE TABLE guesses (
    digest        BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the username and the place that the passwords come from
    failures      INTEGER NOT NULL,
    blocked_until DATETIME NOT NULL,
    refused       BOOLEAN NOT NULL,
    forget_at     DATETIME NOT NULL
);
CREATE INDEX guesses_forget ON guesses (forget_at);

DROP TABLE credentials;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE TABLE credentials (
    user_id         BIGINT NOT NULL PRIMARY KEY REFERENCES users (id),
    password_hash   TEXT NOT NULL, -- argon2id with its cost and salt
    administrator   BOOLEAN NOT NULL, -- of the installation
    failed_attempts INTEGER NOT NULL,
    locked_until    DATETIME,
    changed_at      DATETIME NOT NULL
);
ALTER TABLE credentials ADD COLUMN organization_id BIGINT;
-- Of several accounts of a user the first is left.
INSERT INTO credentials (user_id, password_hash, administrator, failed_attempts, changed_at, organization_id)
SELECT user_id, password_hash, administrator, 0, changed_at, organization_id FROM accounts
WHERE id IN (SELECT MIN(id) FROM accounts GROUP BY user_id);
DROP TABLE guesses;
DROP TABLE devices;
DROP TABLE invitations;
DROP TABLE sessions;
DROP TABLE acceptances;
DROP TABLE accounts;
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
CREATE TABLE invitations (
    digest          BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the token
    user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    installation    BOOLEAN NOT NULL, -- an administrator of the installation invites
    expires_at      DATETIME NOT NULL
);
CREATE INDEX invitations_user ON invitations (user_id);
CREATE INDEX invitations_expires ON invitations (expires_at);
-- +goose StatementEnd
