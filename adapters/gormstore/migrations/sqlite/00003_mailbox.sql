-- Messages that channels with the driver mailbox keep for looking at.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE mailbox_messages (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    channel_id      BIGINT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    message_id      TEXT NOT NULL,
    address         TEXT NOT NULL,
    address_key     TEXT NOT NULL, -- users.Address.Key
    head            TEXT NOT NULL, -- JSON: what listings show. As JSON, because a text may hold characters that the database does not keep
    body            TEXT NOT NULL, -- JSON: text and html
    created_at      DATETIME NOT NULL
);
-- The id is the last column of every index here, as of any in SQLite.
-- A repeated attempt keeps one message.
CREATE UNIQUE INDEX mailbox_messages_once ON mailbox_messages (channel_id, message_id);
CREATE INDEX mailbox_messages_organization ON mailbox_messages (organization_id);
CREATE INDEX mailbox_messages_channel ON mailbox_messages (channel_id);
CREATE INDEX mailbox_messages_address ON mailbox_messages (organization_id, address_key);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE mailbox_messages;
-- +goose StatementEnd
