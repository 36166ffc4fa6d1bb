-- Instances that send through a channel with a rate limit take slots of it, one for each message.

-- +goose Up
CREATE TABLE channel_rates (
    channel_id BIGINT PRIMARY KEY REFERENCES channels (id) ON DELETE CASCADE,
    last_at    DATETIME -- the last slot that is taken; NULL: none yet
);

-- +goose Down
DROP TABLE channel_rates;
