-- How far a copy into this database has come: no row, or one while the copy is not complete. Until then installation.compatible_from
-- keeps every program away.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE copies (
    id              INTEGER PRIMARY KEY CHECK (id = 1),
    since           DATETIME NOT NULL, -- when the source became read-only
    table_name      TEXT NOT NULL, -- the last one of which rows were written; empty: none
    after_key       TEXT NOT NULL, -- the key of the last of these rows, a JSON array
    step            BIGINT NOT NULL, -- counts the units of work
    compatible_from BIGINT NOT NULL -- what installation.compatible_from is once the copy is complete
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE copies;
-- +goose StatementEnd
