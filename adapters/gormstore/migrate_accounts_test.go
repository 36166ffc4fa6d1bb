package gormstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// TestMigrateRoles begins with the data of an installation from before accounts.
func TestMigrateRoles(t *testing.T) {
	t.Parallel()
	onEmptyDisk(t, func(t *testing.T, url string) {
		s, p, dialect := migrating(t, url)
		bytes := "X'%'"
		if dialect == "postgres" {
			bytes = `'\x%'`
		}
		digest := func(b byte) string { return strings.Replace(bytes, "%", strings.Repeat(string([]byte{'0', b}), 32), 1) }
		_, err := p.UpTo(t.Context(), 13)
		require.NoError(t, err)
		for _, statement := range []string{
			"INSERT INTO organizations (id, slug, name, revision, created_at) VALUES (11, 'acme', 'Acme', 0, '2026-01-01 00:00:00+00:00'), (12, 'globex', 'Globex', 0, '2026-01-01 00:00:00+00:00')",
			`INSERT INTO users (id, username, username_fold, email, email_fold, first_name, last_name, created_at) VALUES
				(1, 'own', 'own', '', '', '', '', '2026-01-01 00:00:00+00:00'), (2, 'invited', 'invited', '', '', '', '', '2026-01-01 00:00:00+00:00'), (3, 'nobody', 'nobody', '', '', '', '', '2026-01-01 00:00:00+00:00')`,
			`INSERT INTO members (id, organization_id, user_id, role, custom_fields, locked, created_at) VALUES
				(1, 11, 1, 'viewer', '{}', FALSE, '2026-01-01 00:00:00+00:00'), (2, 12, 1, 'administrator', '{}', TRUE, '2026-01-01 00:00:00+00:00'),
				(3, 11, 2, 'viewer', '{}', FALSE, '2026-01-01 00:00:00+00:00'), (4, 12, 2, 'operator', '{}', FALSE, '2026-01-01 00:00:00+00:00'),
				(5, 11, 3, 'operator', '{}', FALSE, '2026-01-01 00:00:00+00:00')`,
			`INSERT INTO credentials (user_id, password_hash, administrator, failed_attempts, locked_until, changed_at, organization_id) VALUES
				(1, 'h1', TRUE, 3, NULL, '2026-01-01 00:00:00+00:00', NULL), (2, 'h2', FALSE, 0, NULL, '2026-01-01 00:00:00+00:00', 11)`,
			`INSERT INTO sessions (digest, user_id, created_at, last_seen_at, expires_at, remote_address) VALUES
				(` + digest('1') + `, 2, '2026-01-01 00:00:00+00:00', '2026-01-01 01:00:00+00:00', '2026-01-08 00:00:00+00:00', '192.0.2.1')`,
			`INSERT INTO invitations (digest, user_id, organization_id, installation, expires_at) VALUES (` + digest('2') + `, 3, 11, TRUE, '2026-01-02 00:00:00+00:00')`,
		} {
			exec(t, s, statement)
		}
		require.NoError(t, s.Migrate(t.Context()))
		require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
			opened := func(username string) (slugs []string) {
				of, err := tx.Operators().Accounts(t.Context(), username)
				require.NoError(t, err)
				require.Len(t, of, 1)
				for _, place := range of[0].Organizations {
					slugs = append(slugs, place.Organization.Slug)
				}
				return slugs
			}
			assert.Equal(t, []string{"acme", "globex"}, opened("own"), "locked or not")
			assert.Equal(t, []string{"acme"}, opened("invited"), "whose password globex does not know, but acme may")
			of, err := tx.Operators().Accounts(t.Context(), "nobody")
			require.NoError(t, err)
			assert.Empty(t, of)

			moment := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			session, account, err := tx.Operators().Session(t.Context(), repeated(1))
			require.NoError(t, err)
			assert.Equal(t, "invited", account.User.Username)
			assert.Equal(t, operators.Session{Digest: repeated(1), Account: account.ID, Created: moment, Authenticated: moment, Method: operators.ByPassword,
				Seen: moment.Add(time.Hour), Expires: moment.Add(7 * 24 * time.Hour), Address: "192.0.2.1"}, session)
			invited, err := tx.Operators().Invitation(t.Context(), repeated(2))
			require.NoError(t, err)
			assert.Equal(t, users.MemberID(5), invited.Member)
			assert.True(t, invited.Installation)
			return nil
		}))
	})
}

// repeated returns a digest of one repeated byte.
func repeated(b byte) (d operators.Digest) {
	for i := range d {
		d[i] = b
	}
	return d
}
