-- Which identities of a provider open which accounts, which sessions came from the provider, and which logout tokens were used.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE identities (
    account_id   BIGINT NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE, -- one identity opens an account
    issuer       TEXT NOT NULL,
    subject      TEXT NOT NULL, -- by which the provider knows somebody for ever
    linked_at    TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ
);
CREATE UNIQUE INDEX identities_subject ON identities (issuer, subject);

CREATE TABLE provider_sessions (
    digest           BYTEA NOT NULL PRIMARY KEY REFERENCES sessions (digest) ON DELETE CASCADE,
    issuer           TEXT NOT NULL,
    subject          TEXT NOT NULL,
    provider_session TEXT NOT NULL -- what the provider calls its session; empty: it does not say
);
CREATE INDEX provider_sessions_subject ON provider_sessions (issuer, subject);
CREATE INDEX provider_sessions_session ON provider_sessions (issuer, provider_session);

CREATE TABLE logout_tokens (
    digest     BYTEA NOT NULL PRIMARY KEY, -- SHA-256 of the issuer and the token's id
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX logout_tokens_expires ON logout_tokens (expires_at);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE logout_tokens;
DROP TABLE provider_sessions;
DROP TABLE identities;
-- +goose StatementEnd
