-- What an import created, a row for each chunk, so that it can be undone within a week.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE imports ADD COLUMN undo TEXT NOT NULL DEFAULT ''; -- JSON: what was undone; empty: nothing

CREATE TABLE import_creations (
    import_id  BIGINT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL, -- the row of the file that the chunk begins with
    people     BIGINT NOT NULL,
    created    TEXT NOT NULL, -- JSON
    started_at TIMESTAMPTZ NOT NULL, -- the import
    PRIMARY KEY (import_id, number)
);
CREATE INDEX import_creations_started ON import_creations (started_at, import_id);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE import_creations;
ALTER TABLE imports DROP COLUMN undo;
-- +goose StatementEnd
