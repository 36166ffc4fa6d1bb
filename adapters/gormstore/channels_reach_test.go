package gormstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMigrateChannelReach checks which channels may still reach every address: it depends on who
// saved them by the audit log.
func TestMigrateChannelReach(t *testing.T) {
	t.Parallel()
	type entry struct{ via, actor, action, after string }
	const (
		created = "channel.create"
		updated = "channel.update"
		host    = `{"settings_changed":["host"]}`
		url     = `{"settings_changed":["url"]}`
		flags   = `{"active":false}`
	)
	cli, root, admin := "command line", "root", "ada"
	cases := map[string]struct {
		entries      []entry
		unrestricted bool
	}{
		"nobody-knows":             {nil, true},
		"applied":                  {[]entry{{cli, "ops", created, "{}"}}, true},
		"made-by-the-organization": {[]entry{{"console", admin, created, "{}"}}, false},
		"made-by-the-installation": {[]entry{{"console", root, created, "{}"}}, true},
		"led-elsewhere":            {[]entry{{cli, "ops", created, "{}"}, {"console", admin, updated, host}}, false},
		"another-url":              {[]entry{{cli, "ops", created, "{}"}, {"console", admin, updated, url}}, false},
		"switched-off":             {[]entry{{cli, "ops", created, "{}"}, {"console", admin, updated, flags}}, true},
		"applied-again":            {[]entry{{"console", admin, created, "{}"}, {cli, "ops", updated, flags}}, true},
		"taken-over":               {[]entry{{"console", admin, created, "{}"}, {"console", root, updated, flags}}, true},
		"tested":                   {[]entry{{cli, "ops", created, "{}"}, {"console", admin, "channel.test", "{}"}}, true},
		"by-somebody-who-is-gone":  {[]entry{{"console", "nobody", created, "{}"}}, false},
	}
	onEmptyDisk(t, func(t *testing.T, url string) {
		s, p, _ := migrating(t, url)
		_, err := p.UpTo(t.Context(), 13)
		require.NoError(t, err)
		const now = "CURRENT_TIMESTAMP"
		exec(t, s, `INSERT INTO organizations (id, slug, name, revision, created_at) VALUES (7, 'acme', 'Acme', 0, `+now+`), (8, 'globex', 'Globex', 0, `+now+`)`)
		exec(t, s, `INSERT INTO projects (id, organization_id, slug, name, created_at) VALUES (7, 7, 'shop', 'Shop', `+now+`)`)
		exec(t, s, `INSERT INTO users (id, username, username_fold, email, email_fold, first_name, last_name, created_at) VALUES
			(1, 'root', 'root', '', '', '', '', `+now+`), (2, 'ada', 'ada', '', '', '', '', `+now+`)`)
		exec(t, s, `INSERT INTO credentials (user_id, password_hash, administrator, failed_attempts, changed_at) VALUES
			(1, 'x', TRUE, 0, `+now+`), (2, 'x', FALSE, 0, `+now+`)`)
		record := func(org int, object string, e entry) {
			exec(t, s, fmt.Sprintf(`INSERT INTO audit_entries (organization_id, actor, remote_address, via, created_at, action, object, before_state, after_state)
				VALUES (%d, '%s', '', '%s', %s, '%s', '%s', '{}', '%s')`, org, e.actor, e.via, now, e.action, object, e.after))
		}
		for name, c := range cases {
			for _, place := range []string{"NULL", "7"} {
				exec(t, s, fmt.Sprintf(`INSERT INTO channels (organization_id, project_id, name, name_fold, protocol, driver, settings, preferred, active, created_at)
					VALUES (7, %s, '%s', '%s', 'EMAIL', 'smtp', '{}', FALSE, TRUE, %s)`, place, name, name, now))
			}
			for _, e := range c.entries {
				record(7, "acme/p/shop/c/"+name, e)
			}
			// Entries about channels of the same name in other places do not count.
			record(8, "acme/p/shop/c/"+name, entry{"console", admin, created, "{}"})
			record(7, "acme/c/another-"+name, entry{"console", admin, created, "{}"})
		}
		require.NoError(t, s.Migrate(t.Context()))
		for name, c := range cases {
			for where, want := range map[string]bool{"project_id IS NULL": true, "project_id = 7": c.unrestricted} {
				var got bool
				require.NoError(t, s.Handle().QueryRowContext(t.Context(), "SELECT unrestricted FROM channels WHERE name = $1 AND "+where, name).Scan(&got))
				assert.Equal(t, want, got, "%s, %s", name, where)
			}
		}
	})
}
