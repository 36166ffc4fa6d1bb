-- Partials: pieces of templates that an organization keeps once.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE partials (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    description     TEXT NOT NULL,
    text_body       TEXT NOT NULL,
    html_body       TEXT NOT NULL,
    version         BIGINT NOT NULL DEFAULT 1, -- counts the saves
    UNIQUE (organization_id, name)
);

-- The current version is among them.
CREATE TABLE partial_versions (
    partial_id  BIGINT NOT NULL REFERENCES partials (id) ON DELETE CASCADE,
    version     BIGINT NOT NULL,
    saved_by    TEXT NOT NULL,
    saved_at    DATETIME NOT NULL,
    description TEXT NOT NULL,
    text_body   TEXT NOT NULL,
    html_body   TEXT NOT NULL,
    PRIMARY KEY (partial_id, version)
);

-- Which partials a template names itself.
CREATE TABLE template_partials (
    template_id BIGINT NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    partial_id  BIGINT NOT NULL REFERENCES partials (id) ON DELETE CASCADE,
    PRIMARY KEY (template_id, partial_id)
);
CREATE INDEX template_partials_partial ON template_partials (partial_id, template_id);

-- Which partials a partial names itself.
CREATE TABLE partial_partials (
    partial_id BIGINT NOT NULL REFERENCES partials (id) ON DELETE CASCADE,
    uses_id    BIGINT NOT NULL REFERENCES partials (id) ON DELETE CASCADE,
    PRIMARY KEY (partial_id, uses_id)
);
CREATE INDEX partial_partials_uses ON partial_partials (uses_id, partial_id);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE partial_partials;
DROP TABLE template_partials;
DROP TABLE partial_versions;
DROP TABLE partials;
-- +goose StatementEnd
