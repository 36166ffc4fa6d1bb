-- How many bytes each message in the mailbox takes. The index of an organization has them, so that its newest messages are added up without
-- reading them. Existing messages are not read: each counts as 1 KiB.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE mailbox_messages ADD COLUMN size BIGINT NOT NULL DEFAULT 1024;
CREATE INDEX mailbox_messages_size ON mailbox_messages (organization_id, id, size);
DROP INDEX mailbox_messages_organization;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE INDEX mailbox_messages_organization ON mailbox_messages (organization_id);
DROP INDEX mailbox_messages_size;
ALTER TABLE mailbox_messages DROP COLUMN size;
-- +goose StatementEnd
