-- Instances that send through a channel at the same time share its limits, and what its provider asks for.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE channel_shares (
    channel_id BIGINT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    owner      TEXT NOT NULL,        -- the worker
    joined     BIGINT NOT NULL,      -- joining and renewing are numbered together, for each channel
    renewed    BIGINT NOT NULL,
    until_at   TIMESTAMPTZ NOT NULL, -- the end of its lease
    PRIMARY KEY (channel_id, owner)
);
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE channel_troubles ADD COLUMN for_all BOOLEAN NOT NULL DEFAULT FALSE; -- no instance tries the channel until then: its provider asked for that
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE channel_troubles DROP COLUMN for_all;
-- +goose StatementEnd
-- +goose StatementBegin
DROP TABLE channel_shares;
-- +goose StatementEnd
