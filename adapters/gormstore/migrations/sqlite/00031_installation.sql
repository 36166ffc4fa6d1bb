-- What holds for all instances: one row.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE installation (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    held_at      DATETIME, -- since when nothing is sent; NULL: messages are sent
    read_only_at DATETIME, -- since when nothing may be changed; NULL: it may
    notice       TEXT NOT NULL
);
INSERT INTO installation (id, notice) VALUES (1, '');
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE installation;
-- +goose StatementEnd
