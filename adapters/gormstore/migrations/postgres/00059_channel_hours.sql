-- How many deliveries went through each channel within an hour, for its card.

-- +goose Up
-- +goose StatementBegin
-- Again the sum of the parts. The channel is not referenced: whoever records outcomes would wait for those who lock it.
CREATE TABLE channel_hours (
    channel_id BIGINT NOT NULL,
    hour       BIGINT NOT NULL, -- since 1970, UTC
    part       BIGINT NOT NULL,
    sent       BIGINT NOT NULL,
    failed     BIGINT NOT NULL,
    PRIMARY KEY (channel_id, hour, part)
) WITH (fillfactor = 50); -- These rows change all the time.
CREATE INDEX channel_hours_hour ON channel_hours (hour);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE channel_hours;
-- +goose StatementEnd
