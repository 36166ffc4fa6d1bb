-- Links by which members of an organization set a password, and which organization an account comes from.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE credentials ADD COLUMN organization_id BIGINT; -- NULL: of the installation

CREATE TABLE invitations (
    digest          BYTEA NOT NULL PRIMARY KEY, -- SHA-256 of the token
    user_id         BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    installation    BOOLEAN NOT NULL, -- an administrator of the installation invites
    expires_at      TIMESTAMPTZ NOT NULL
);
CREATE INDEX invitations_user ON invitations (user_id);
CREATE INDEX invitations_expires ON invitations (expires_at);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE invitations;
ALTER TABLE credentials DROP COLUMN organization_id;
-- +goose StatementEnd
