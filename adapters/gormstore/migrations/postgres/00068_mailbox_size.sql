-- How many bytes each message in the mailbox takes. The index of an organization has them, so that its newest messages are added up without
-- reading them. Existing messages are not read: each counts as 1 KiB.

-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE mailbox_messages ADD COLUMN IF NOT EXISTS size BIGINT NOT NULL DEFAULT 1024;
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS mailbox_messages_size;
CREATE INDEX CONCURRENTLY mailbox_messages_size ON mailbox_messages (organization_id, id) INCLUDE (size);
DROP INDEX CONCURRENTLY IF EXISTS mailbox_messages_organization;
SET lock_timeout = '2s';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS mailbox_messages_organization;
CREATE INDEX CONCURRENTLY mailbox_messages_organization ON mailbox_messages (organization_id, id);
DROP INDEX CONCURRENTLY IF EXISTS mailbox_messages_size;
SET lock_timeout = '2s';
ALTER TABLE mailbox_messages DROP COLUMN IF EXISTS size;
