package gormstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// twoThatShare are two organizations that share the user Ada, before memberships had names, and a
// user without a membership.
const twoThatShare = `
	INSERT INTO organizations (id, slug, name, revision, created_at) VALUES (12, 'acme', 'Acme', 0, CURRENT_TIMESTAMP), (13, 'globex', 'Globex', 0, CURRENT_TIMESTAMP);
	INSERT INTO member_groups (id, organization_id, name, name_fold) VALUES (12, 12, 'Default', 'default'), (13, 13, 'Default', 'default');
	INSERT INTO users (id, username, username_fold, email, email_fold, first_name, last_name, created_at) VALUES
		(1, 'Ada', 'ada', 'Ada@Example.org', 'ada@example.org', 'Ada', 'Lovelace', CURRENT_TIMESTAMP),
		(2, 'bob@example.org', 'bob@example.org', 'bob@example.org', 'bob@example.org', '', '', CURRENT_TIMESTAMP),
		(3, 'root', 'root', '', '', '', '', CURRENT_TIMESTAMP);
	INSERT INTO members (id, organization_id, user_id, role, custom_fields, locked, created_at) VALUES
		(21, 12, 1, 'operator', '{"a":1.50}', TRUE, CURRENT_TIMESTAMP), (22, 13, 1, 'member', '{}', FALSE, CURRENT_TIMESTAMP),
		(23, 12, 2, 'member', '{}', FALSE, CURRENT_TIMESTAMP);
	INSERT INTO member_group_links (member_id, group_id) VALUES (21, 12);
	INSERT INTO addresses (id, organization_id, member_id, value, value_key, name, type) VALUES (31, 12, 21, 'Ada@Example.org', 'ada@example.org', 'email', 'email');
	INSERT INTO credentials (user_id, password_hash, administrator, failed_attempts, changed_at) VALUES (3, 'h', TRUE, 0, CURRENT_TIMESTAMP);`

// TestMigrateMemberUsernames goes up from the schemas in which users had names, and back again.
func TestMigrateMemberUsernames(t *testing.T) {
	t.Parallel()
	onEmptyDisk(t, func(t *testing.T, url string) {
		s, p, _ := migrating(t, url)
		for _, version := range []int64{4, 13} { // credentials are there from the fourth on
			_, err := p.UpTo(t.Context(), version)
			require.NoError(t, err)
			exec(t, s, twoThatShare)
			require.NoError(t, s.Migrate(t.Context()))

			ada := users.Member{ID: 21, Organization: 12, User: users.User{ID: 1, Username: "Ada"},
				Details: users.Details{Email: "Ada@Example.org", FirstName: "Ada", LastName: "Lovelace"}, Role: users.RoleOperator, Locked: true, Groups: []string{"Default"}}
			there, bob := ada, users.Member{ID: 23, Organization: 12, User: users.User{ID: 2, Username: "bob@example.org"}, Details: users.Details{Email: "bob@example.org"}, Role: users.RoleMember}
			there.ID, there.Organization, there.Role, there.Locked, there.Groups = 22, 13, users.RoleMember, false, nil
			require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
				for want, find := range map[*users.Member]func() (users.Member, error){
					&ada:   func() (users.Member, error) { return tx.Users().ByUsername(t.Context(), 12, "ADA") },
					&there: func() (users.Member, error) { return tx.Users().ByUsername(t.Context(), 13, "ADA") },
					&bob:   func() (users.Member, error) { return tx.Users().ByUsername(t.Context(), 12, "bob@example.org") },
				} {
					m, err := find()
					require.NoError(t, err)
					want.CustomFields, m.Groups = m.CustomFields, append([]string(nil), m.Groups...)
					assert.Equal(t, *want, m)
				}
				for _, org := range []orgs.ID{12, 13} {
					ms, err := tx.Users().ByEmail(t.Context(), org, "ada@example.org", 10)
					require.NoError(t, err)
					assert.Len(t, ms, 1)
				}
				accounts, err := tx.Operators().Accounts(t.Context(), "root")
				require.NoError(t, err)
				assert.Len(t, accounts, 1)
				_, err = tx.Addresses().ByID(t.Context(), 12, 21, 31)
				return err
			}))

			_, err = p.DownTo(t.Context(), 13)
			require.NoError(t, err)
			assert.Equal(t, []string{"Ada ada Ada@Example.org ada@example.org Ada Lovelace", "bob@example.org bob@example.org bob@example.org bob@example.org  ", "root root    "},
				lines(t, s.Handle(), 0, "SELECT username || ' ' || username_fold || ' ' || email || ' ' || email_fold || ' ' || first_name || ' ' || last_name FROM users ORDER BY id"))
			_, err = p.DownTo(t.Context(), 0)
			require.NoError(t, err)
		}
	})
}

// TestMigrateWordsOfNumbers is about members whose words lack the numbers that they have in groups.
func TestMigrateWordsOfNumbers(t *testing.T) {
	t.Parallel()
	onEmptyDisk(t, func(t *testing.T, url string) {
		s, p, _ := migrating(t, url)
		_, err := p.UpTo(t.Context(), 75)
		require.NoError(t, err)
		exec(t, s, `INSERT INTO organizations (id, slug, name, revision, created_at) VALUES (12, 'acme', 'Acme', 0, CURRENT_TIMESTAMP), (13, 'globex', 'Globex', 0, CURRENT_TIMESTAMP);
			DELETE FROM member_words_builds; INSERT INTO member_words_builds (organization_id, position) VALUES (13, 7);`)
		require.NoError(t, s.Migrate(t.Context()))
		var anew, former int
		row := s.Handle().QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM word_builds WHERE organization_id IN (12, 13) AND position = 0),
			(SELECT COUNT(*) FROM member_words_builds)`)
		require.NoError(t, row.Scan(&anew, &former))
		assert.Equal(t, []int{2, 1}, []int{anew, former}, "a program that does not know the new words gets no work")
	})
}
