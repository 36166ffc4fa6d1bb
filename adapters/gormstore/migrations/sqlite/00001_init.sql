-- The first schema: tenancy, people, channels, applications, lists, events, keys.
-- *_fold columns hold names.Fold of their neighbour: uniqueness "without regard to case" never depends on a collation.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE organizations (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    slug       TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    revision   BIGINT NOT NULL,
    created_at DATETIME NOT NULL
);

CREATE TABLE projects (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    slug            TEXT NOT NULL,
    name            TEXT NOT NULL,
    created_at      DATETIME NOT NULL,
    UNIQUE (organization_id, slug),
    UNIQUE (id, organization_id)
);

CREATE TABLE member_groups (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    name            TEXT NOT NULL,
    name_fold       TEXT NOT NULL,
    UNIQUE (organization_id, name_fold)
);

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    username      TEXT NOT NULL,
    username_fold TEXT NOT NULL UNIQUE,
    email         TEXT NOT NULL,
    email_fold    TEXT NOT NULL,
    first_name    TEXT NOT NULL,
    last_name     TEXT NOT NULL,
    created_at    DATETIME NOT NULL
);
-- Most users are named by their e-mail and found by username_fold; only the others need a second way in.
CREATE INDEX users_email ON users (email_fold) WHERE email_fold <> username_fold;

CREATE TABLE members (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    user_id         BIGINT NOT NULL REFERENCES users (id),
    role            TEXT NOT NULL,
    custom_fields   TEXT NOT NULL, -- JSON text as sent: a JSON column type would rewrite the numbers
    locked          BOOLEAN NOT NULL,
    created_at      DATETIME NOT NULL,
    UNIQUE (user_id, organization_id)
);
-- Members of an organization are listed by id.
CREATE UNIQUE INDEX members_organization ON members (organization_id, id);

CREATE TABLE member_group_links (
    member_id BIGINT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    group_id  BIGINT NOT NULL REFERENCES member_groups (id),
    PRIMARY KEY (member_id, group_id)
) WITHOUT ROWID;

CREATE TABLE addresses (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL,
    member_id       BIGINT NOT NULL,
    value           TEXT NOT NULL,
    value_key       TEXT NOT NULL, -- users.Address.Key
    name            TEXT NOT NULL,
    type            TEXT NOT NULL,
    UNIQUE (organization_id, member_id, value_key),
    FOREIGN KEY (organization_id, member_id) REFERENCES members (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX addresses_value ON addresses (organization_id, value_key);

CREATE TABLE channels (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    project_id      BIGINT,
    name            TEXT NOT NULL,
    name_fold       TEXT NOT NULL,
    protocol        TEXT NOT NULL,
    driver          TEXT NOT NULL,
    settings        TEXT NOT NULL,
    preferred       BOOLEAN NOT NULL,
    active          BOOLEAN NOT NULL,
    created_at      DATETIME NOT NULL,
    FOREIGN KEY (project_id, organization_id) REFERENCES projects (id, organization_id)
);
CREATE UNIQUE INDEX channels_organization_name ON channels (organization_id, name_fold) WHERE project_id IS NULL;
CREATE UNIQUE INDEX channels_project_name ON channels (project_id, name_fold) WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX channels_organization_preferred ON channels (organization_id, protocol) WHERE preferred AND project_id IS NULL;
CREATE UNIQUE INDEX channels_project_preferred ON channels (project_id, protocol) WHERE preferred AND project_id IS NOT NULL;

CREATE TABLE assignments (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL REFERENCES organizations (id),
    address_id      BIGINT NOT NULL REFERENCES addresses (id) ON DELETE CASCADE,
    channel_id      BIGINT NOT NULL REFERENCES channels (id),
    active          BOOLEAN NOT NULL,
    validated       BOOLEAN NOT NULL,
    UNIQUE (address_id, channel_id)
);
CREATE INDEX assignments_channel ON assignments (channel_id);

CREATE TABLE applications (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL,
    project_id      BIGINT NOT NULL,
    slug            TEXT NOT NULL,
    name            TEXT NOT NULL,
    active          BOOLEAN NOT NULL,
    created_at      DATETIME NOT NULL,
    UNIQUE (project_id, slug),
    UNIQUE (id, project_id),
    FOREIGN KEY (project_id, organization_id) REFERENCES projects (id, organization_id)
);

CREATE TABLE application_memberships (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    application_id       BIGINT NOT NULL REFERENCES applications (id),
    member_id            BIGINT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    custom_fields        TEXT NOT NULL,
    active               BOOLEAN NOT NULL,
    enable_notifications BOOLEAN NOT NULL,
    UNIQUE (member_id, application_id)
);
CREATE INDEX application_memberships_application ON application_memberships (application_id);

-- A lock outlives the membership: unregistering and registering again does not lift it.
CREATE TABLE application_locks (
    application_id BIGINT NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    member_id      BIGINT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    PRIMARY KEY (member_id, application_id)
) WITHOUT ROWID;

CREATE TABLE distribution_lists (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    organization_id BIGINT NOT NULL,
    project_id      BIGINT NOT NULL,
    name            TEXT NOT NULL,
    name_fold       TEXT NOT NULL,
    application_id  BIGINT,
    created_at      DATETIME NOT NULL,
    UNIQUE (project_id, name_fold),
    FOREIGN KEY (project_id, organization_id) REFERENCES projects (id, organization_id),
    FOREIGN KEY (application_id, project_id) REFERENCES applications (id, project_id)
);
CREATE INDEX distribution_lists_application ON distribution_lists (application_id);

CREATE TABLE list_entries (
    list_id       BIGINT NOT NULL REFERENCES distribution_lists (id) ON DELETE CASCADE,
    assignment_id BIGINT NOT NULL REFERENCES assignments (id) ON DELETE CASCADE,
    PRIMARY KEY (list_id, assignment_id)
) WITHOUT ROWID;
CREATE INDEX list_entries_assignment ON list_entries (assignment_id);

CREATE TABLE events (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    application_id BIGINT NOT NULL REFERENCES applications (id),
    slug           TEXT NOT NULL,
    name           TEXT NOT NULL,
    description    TEXT NOT NULL,
    active         BOOLEAN NOT NULL,
    created_at     DATETIME NOT NULL,
    UNIQUE (application_id, slug),
    UNIQUE (id, application_id)
);

CREATE TABLE event_channels (
    event_id   BIGINT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    channel_id BIGINT NOT NULL REFERENCES channels (id),
    PRIMARY KEY (event_id, channel_id)
) WITHOUT ROWID;
CREATE INDEX event_channels_channel ON event_channels (channel_id);

CREATE TABLE notifications (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    application_id BIGINT NOT NULL,
    event_id       BIGINT NOT NULL,
    name           TEXT NOT NULL,
    name_fold      TEXT NOT NULL,
    list_id        BIGINT REFERENCES distribution_lists (id),
    active         BOOLEAN NOT NULL,
    created_at     DATETIME NOT NULL,
    UNIQUE (event_id, name_fold),
    FOREIGN KEY (event_id, application_id) REFERENCES events (id, application_id)
);
CREATE INDEX notifications_application ON notifications (application_id, id);
CREATE INDEX notifications_list ON notifications (list_id);

-- A template belongs to an event or to one notification of it.
CREATE TABLE templates (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id        BIGINT REFERENCES events (id) ON DELETE CASCADE,
    notification_id BIGINT REFERENCES notifications (id) ON DELETE CASCADE,
    channel_id      BIGINT NOT NULL REFERENCES channels (id),
    subject         TEXT NOT NULL,
    text_body       TEXT NOT NULL,
    html_body       TEXT NOT NULL,
    CHECK ((event_id IS NULL) <> (notification_id IS NULL)),
    UNIQUE (event_id, channel_id),
    UNIQUE (notification_id, channel_id)
);
CREATE INDEX templates_channel ON templates (channel_id);

CREATE TABLE subscriptions (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    notification_id BIGINT NOT NULL REFERENCES notifications (id),
    assignment_id   BIGINT NOT NULL REFERENCES assignments (id) ON DELETE CASCADE,
    active          BOOLEAN NOT NULL,
    UNIQUE (notification_id, assignment_id)
);
CREATE INDEX subscriptions_assignment ON subscriptions (assignment_id);

CREATE TABLE api_keys (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    name            TEXT NOT NULL,
    name_fold       TEXT NOT NULL,
    digest          BLOB NOT NULL UNIQUE,
    organization_id BIGINT REFERENCES organizations (id),
    project_id      BIGINT REFERENCES projects (id),
    application_id  BIGINT REFERENCES applications (id),
    grants          TEXT NOT NULL, -- separated by spaces
    created_at      DATETIME NOT NULL,
    expires_at      DATETIME,
    revoked_at      DATETIME,
    last_used_at    DATETIME
);
CREATE UNIQUE INDEX api_keys_name ON api_keys (name_fold) WHERE revoked_at IS NULL;

INSERT INTO organizations (slug, name, revision, created_at) VALUES ('system', 'System', 0, CURRENT_TIMESTAMP);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE api_keys;
DROP TABLE subscriptions;
DROP TABLE templates;
DROP TABLE notifications;
DROP TABLE event_channels;
DROP TABLE events;
DROP TABLE list_entries;
DROP TABLE distribution_lists;
DROP TABLE application_locks;
DROP TABLE application_memberships;
DROP TABLE applications;
DROP TABLE assignments;
DROP TABLE channels;
DROP TABLE addresses;
DROP TABLE member_group_links;
DROP TABLE members;
DROP TABLE users;
DROP TABLE member_groups;
DROP TABLE projects;
DROP TABLE organizations;
-- +goose StatementEnd
