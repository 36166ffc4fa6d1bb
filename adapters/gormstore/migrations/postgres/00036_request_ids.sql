-- +goose Up
-- +goose StatementBegin
-- The id of the request that triggered an occurrence, as its answer and the log tell it; empty: none is known.
ALTER TABLE occurrences ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
-- +goose StatementEnd
-- +goose StatementBegin
-- What the caller said of its trace (W3C Trace Context, traceparent); empty: nothing.
ALTER TABLE occurrences ADD COLUMN traceparent TEXT NOT NULL DEFAULT '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE occurrences DROP COLUMN traceparent;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE occurrences DROP COLUMN request_id;
-- +goose StatementEnd
