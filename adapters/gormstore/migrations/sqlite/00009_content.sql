-- What the editors of events and channels need: earlier versions of templates, example contexts, and which channels do not work.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE events ADD COLUMN example TEXT NOT NULL DEFAULT ''; -- JSON text as typed; empty: none
ALTER TABLE templates ADD COLUMN version INTEGER NOT NULL DEFAULT 1; -- counts the saves

-- The current version is among them.
CREATE TABLE template_versions (
    template_id BIGINT NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    saved_by    TEXT NOT NULL,
    saved_at    DATETIME NOT NULL,
    subject     TEXT NOT NULL,
    text_body   TEXT NOT NULL,
    html_body   TEXT NOT NULL,
    PRIMARY KEY (template_id, version)
);
INSERT INTO template_versions (template_id, version, saved_by, saved_at, subject, text_body, html_body)
    SELECT id, version, '', CURRENT_TIMESTAMP, subject, text_body, html_body FROM templates;

-- Each instance writes what it finds out.
CREATE TABLE channel_troubles (
    channel_id BIGINT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    instance   TEXT NOT NULL,
    since      DATETIME NOT NULL,
    last_at    DATETIME NOT NULL,
    until_at   DATETIME NOT NULL,
    last_error TEXT NOT NULL,
    PRIMARY KEY (channel_id, instance)
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE channel_troubles;
DROP TABLE template_versions;
ALTER TABLE templates DROP COLUMN version;
ALTER TABLE events DROP COLUMN example;
-- +goose StatementEnd
