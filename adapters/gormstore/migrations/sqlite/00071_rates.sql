-- How many deliveries of an occurrence ended lately, which predicts its end. NULL until a second unit of work has recorded outcomes in
-- the part of the tally, so that an occurrence of one message takes no space for it.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE occurrence_tallies ADD COLUMN recent_since BIGINT; -- seconds since 1970
ALTER TABLE occurrence_tallies ADD COLUMN recent_ended BIGINT; -- since then
ALTER TABLE occurrence_tallies ADD COLUMN earlier_since BIGINT;
ALTER TABLE occurrence_tallies ADD COLUMN earlier_ended BIGINT; -- from then until recent_since
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE occurrence_tallies DROP COLUMN recent_since;
ALTER TABLE occurrence_tallies DROP COLUMN recent_ended;
ALTER TABLE occurrence_tallies DROP COLUMN earlier_since;
ALTER TABLE occurrence_tallies DROP COLUMN earlier_ended;
-- +goose StatementEnd
