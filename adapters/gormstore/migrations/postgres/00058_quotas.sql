-- How much of its quota a channel has used on the day and in the month (UTC) of a moment.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE channel_usage (
    channel_id BIGINT NOT NULL PRIMARY KEY REFERENCES channels (id) ON DELETE CASCADE,
    counted_at TIMESTAMPTZ NOT NULL,
    of_day     BIGINT NOT NULL,
    of_month   BIGINT NOT NULL,
    used_up_at TIMESTAMPTZ -- nothing is left until then; NULL: something may be
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE channel_usage;
-- +goose StatementEnd
