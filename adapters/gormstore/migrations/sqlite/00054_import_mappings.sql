-- What the columns of the file of an import become, and how files of the same columns were mapped
-- last.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE imports ADD COLUMN mapping TEXT NOT NULL DEFAULT ''; -- JSON; empty: not known

CREATE TABLE import_mappings (
    organization_id BIGINT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    header_digest   TEXT NOT NULL, -- of the names of the columns, in whatever order
    mapping         TEXT NOT NULL, -- JSON
    used_at         DATETIME NOT NULL,
    PRIMARY KEY (organization_id, header_digest)
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE import_mappings;
ALTER TABLE imports DROP COLUMN mapping;
-- +goose StatementEnd
