-- Second factors of those who sign in to the console, what waits for a browser's answer, and who signs in with single sign-on.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE totp_factors (
    account_id   BIGINT NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    secret       TEXT NOT NULL, -- encrypted under the secret key
    last_period  BIGINT NOT NULL, -- of the last code that was taken
    created_at   DATETIME NOT NULL,
    last_used_at DATETIME
);

CREATE TABLE recovery_codes (
    account_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    digest     BLOB NOT NULL, -- SHA-256 of the code
    PRIMARY KEY (account_id, digest)
);

CREATE TABLE passkeys (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id    BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    handle        BLOB NOT NULL, -- by which authenticators know the account
    credential_id BLOB NOT NULL,
    name          TEXT NOT NULL,
    record        TEXT NOT NULL, -- the public key and what belongs to it
    created_at    DATETIME NOT NULL,
    last_used_at  DATETIME
);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_account ON passkeys (account_id, id);

CREATE TABLE sign_in_steps (
    digest     BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the token
    purpose    TEXT NOT NULL,
    account_id BIGINT REFERENCES accounts (id) ON DELETE CASCADE, -- NULL: not known yet
    held       TEXT NOT NULL, -- encrypted under the secret key; empty: nothing
    expires_at DATETIME NOT NULL
);
CREATE INDEX sign_in_steps_account ON sign_in_steps (account_id);
CREATE INDEX sign_in_steps_expires ON sign_in_steps (expires_at);

ALTER TABLE invitations ADD COLUMN resets_factors BOOLEAN NOT NULL DEFAULT FALSE; -- whoever accepts starts without a second factor
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE invitations DROP COLUMN resets_factors;
DROP TABLE sign_in_steps;
DROP TABLE passkeys;
DROP TABLE recovery_codes;
DROP TABLE totp_factors;
-- +goose StatementEnd
