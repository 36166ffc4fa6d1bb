-- Several channels of one protocol form a pool: each message chooses which of them sends it.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE channels ADD COLUMN pool TEXT NOT NULL DEFAULT ''; -- empty: none
-- +goose StatementEnd
-- +goose StatementBegin
-- squawk-ignore prefer-bigint-over-int
ALTER TABLE channels ADD COLUMN weight INTEGER NOT NULL DEFAULT 100; -- 0: it sends when no other one works
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE channels ADD COLUMN returned_at TIMESTAMPTZ; -- when it began to work again
-- +goose StatementEnd
-- +goose StatementBegin
-- The channel that the address is assigned to, where another one of its pool sends. Nothing refers to a channel here: it may go before.
ALTER TABLE deliveries ADD COLUMN named_channel_id BIGINT;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE deliveries ADD COLUMN moved_from BIGINT; -- the channel that it waited for before
-- +goose StatementEnd
-- +goose StatementBegin
-- A few numbers, in the largest table.
-- squawk-ignore prefer-bigint-over-smallint
ALTER TABLE deliveries ADD COLUMN why SMALLINT NOT NULL DEFAULT 0; -- of the choice of channel_id, see channels.Why
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE deliveries ADD COLUMN unsure BOOLEAN NOT NULL DEFAULT FALSE; -- the provider may have taken it: its answer is missing
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE deliveries DROP COLUMN unsure;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE deliveries DROP COLUMN why;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE deliveries DROP COLUMN moved_from;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE deliveries DROP COLUMN named_channel_id;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE channels DROP COLUMN returned_at;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE channels DROP COLUMN weight;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE channels DROP COLUMN pool;
-- +goose StatementEnd
