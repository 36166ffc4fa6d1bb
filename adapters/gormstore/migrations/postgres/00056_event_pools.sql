-- An event may name pools: any member of them may send.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE event_pools (
    event_id BIGINT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    pool     TEXT NOT NULL,
    protocol TEXT NOT NULL,
    PRIMARY KEY (event_id, pool, protocol)
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE event_pools;
-- +goose StatementEnd
