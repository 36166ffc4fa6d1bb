-- The people of an organization in the order of their names: search_sorted.go asks for this expression. The condition holds for everybody: it keeps
-- the index from searches that do not state it, for which it seems as good as a better one while a table is small.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX members_name ON members (organization_id, LOWER(last_name || ' ' || first_name), id) WHERE last_name >= '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP INDEX members_name;
-- +goose StatementEnd
