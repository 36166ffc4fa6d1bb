-- Which channels may connect to every address: those whose settings come from the command line or from an administrator of the installation.
-- A channel of today is one of them unless the audit log shows that somebody else was the last to say, in the console, what it connects to. So
-- channels that were applied go on working with mail servers in private networks, and what an organization's administrators pointed there does not.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE channels ADD COLUMN unrestricted BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE channels SET unrestricted = NOT EXISTS (
    SELECT 1 FROM audit_entries e
    JOIN organizations o ON o.id = e.organization_id
    LEFT JOIN projects p ON p.id = channels.project_id
    WHERE e.organization_id = channels.organization_id AND e.via <> 'API' AND e.via = 'console'
        AND e.object = o.slug || COALESCE('/p/' || p.slug, '') || '/c/' || channels.name
        AND (e.action = 'channel.create' OR e.action = 'channel.update' AND e.after_state LIKE '%"settings_changed":%' AND (
            e.after_state LIKE '%"host"%' OR e.after_state LIKE '%"port"%' OR e.after_state LIKE '%"base\_url"%' ESCAPE '\' OR e.after_state LIKE '%"url"%'))
        AND NOT EXISTS (SELECT 1 FROM users u JOIN credentials c ON c.user_id = u.id WHERE u.username = e.actor AND c.administrator)
        AND NOT EXISTS (
            SELECT 1 FROM audit_entries later
            WHERE later.organization_id = e.organization_id AND later.via <> 'API' AND later.object = e.object AND later.id > e.id
                AND later.action IN ('channel.create', 'channel.update')
                AND (later.via = 'command line' OR EXISTS (
                    SELECT 1 FROM users u JOIN credentials c ON c.user_id = u.id WHERE u.username = later.actor AND c.administrator))));
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE channels DROP COLUMN unrestricted;
-- +goose StatementEnd
