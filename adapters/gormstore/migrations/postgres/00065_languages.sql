-- In which language an account is shown the console.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE accounts ADD COLUMN language TEXT NOT NULL DEFAULT ''; -- a BCP 47 tag; empty: the browser decides
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE accounts DROP COLUMN language;
-- +goose StatementEnd
