-- Imports that run in the background, their files in pieces, and the rows that they rejected.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE imports (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    file_name       TEXT NOT NULL,
    size            BIGINT NOT NULL, -- bytes
    header          TEXT NOT NULL, -- the first row of the file
    group_id        BIGINT, -- no reference: a group may go, and then the import fails
    group_name      TEXT NOT NULL,
    actor           TEXT NOT NULL,
    remote_address  TEXT NOT NULL,
    state           TEXT NOT NULL,
    reason          TEXT NOT NULL, -- why it failed
    row_count       INTEGER NOT NULL,
    done_count      INTEGER NOT NULL,
    kept_count      INTEGER NOT NULL, -- rows of import_rejects
    counts          TEXT NOT NULL, -- JSON: what became of the rows that are done
    checked         TEXT NOT NULL, -- JSON: what the dry run said
    uploaded_at     DATETIME NOT NULL,
    started_at      DATETIME,
    ended_at        DATETIME,
    touched_at      DATETIME NOT NULL,
    pace_since      DATETIME,
    pace_from       INTEGER NOT NULL,
    owner           TEXT NOT NULL, -- who works at it, else empty
    lease_until     DATETIME,
    failures        INTEGER NOT NULL,
    version         BIGINT NOT NULL,
    stored          BOOLEAN NOT NULL -- whether there may be pieces of the file
);
-- The id is the last column of every index here.
CREATE INDEX imports_organization ON imports (organization_id);
CREATE INDEX imports_state ON imports (state, touched_at);
CREATE INDEX imports_stored ON imports (organization_id) WHERE stored;

CREATE TABLE import_pieces (
    import_id BIGINT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL,
    data      BLOB NOT NULL,
    PRIMARY KEY (import_id, number)
);

CREATE TABLE import_rejects (
    import_id BIGINT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    line      INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    cells     TEXT NOT NULL, -- the row, as a list of rejected rows shows it
    PRIMARY KEY (import_id, line)
);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE import_rejects;
DROP TABLE import_pieces;
DROP TABLE imports;
-- +goose StatementEnd
