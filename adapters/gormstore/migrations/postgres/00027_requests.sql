-- +goose Up
-- +goose StatementBegin
-- Any call may be repeatable, not only triggers; the answer of the others is kept.
ALTER TABLE requests ALTER COLUMN occurrence_id DROP NOT NULL;
ALTER TABLE requests ADD COLUMN status SMALLINT NOT NULL DEFAULT 0; -- of the answer; 0: the occurrence tells
ALTER TABLE requests ADD COLUMN answer TEXT NOT NULL DEFAULT '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DELETE FROM requests WHERE occurrence_id IS NULL;
ALTER TABLE requests DROP COLUMN answer;
ALTER TABLE requests DROP COLUMN status;
ALTER TABLE requests ALTER COLUMN occurrence_id SET NOT NULL;
-- +goose StatementEnd
