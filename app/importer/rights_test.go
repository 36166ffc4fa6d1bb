package importer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// operator creates a user with a role in acme who can sign in, or changes the user's role.
func (b *fixture) operator(username string, role users.Role, locked bool) audit.Actor {
	b.Helper()
	require.NoError(b, b.store.Update(b.Context(), func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(b.Context(), "acme")
		if err != nil {
			return err
		}
		us, _, err := tx.Users().Ensure(b.Context(), []users.User{{Username: username}})
		if err != nil {
			return err
		}
		ms, _, err := tx.Users().EnsureMembers(b.Context(), org.ID, []users.Member{{User: us[0], Details: users.Details{Email: username}}})
		if err != nil {
			return err
		}
		m := ms[0]
		m.Role, m.Locked = role, locked
		if err := tx.Users().SetRole(b.Context(), m); err != nil {
			return err
		}
		if err := tx.Users().SetLocked(b.Context(), m); err != nil {
			return err
		}
		accepted, err := tx.Operators().Acceptance(b.Context(), m.ID)
		if err != nil || accepted.Account != 0 {
			return err
		}
		id, err := tx.Operators().Save(b.Context(), operators.Account{User: m.User, Hash: "h", Changed: b.clock.Now()})
		if err != nil {
			return err
		}
		return tx.Operators().Accept(b.Context(), m.ID, id, b.clock.Now())
	}))
	return audit.Actor{Name: username, Via: audit.Console}
}

// run uploads a file as one user, waits until it is checked, and starts the import as another.
func (b *fixture) run(uploader, starter audit.Actor, file string) imports.Job {
	b.Helper()
	job, err := b.jobs.Upload(b.Context(), uploader, acme, importer.Upload{Name: "people.csv", File: strings.NewReader(file)})
	require.NoError(b, err)
	i := b.importer(nil)
	require.True(b, i.WorkOnce(b.Context()))
	require.NoError(b, b.jobs.Start(b.Context(), starter, acme, job.ID))
	require.True(b, i.WorkOnce(b.Context()))
	return b.show(acme, job.ID)
}

// TestImportHigherRole is about administrators in the file of an operator.
func TestImportHigherRole(t *testing.T) {
	t.Parallel()
	file := strings.Replace(mixed(4_500), "\n", "\nboss@example.org,,pro\nsame@example.org,,pro\nolga@example.org,,pro\n", 1)
	pro := metadata.Map{"n": "pro"}
	prepared := func(t *testing.T) (b *fixture, olga, root audit.Actor) {
		t.Helper()
		b = newFixture(t, 1<<20)
		olga, root = b.operator("olga@example.org", users.RoleOperator, false), b.operator("root@example.org", users.RoleAdministrator, false)
		for _, name := range []string{"boss@example.org", "same@example.org", "user4444@example.org"} { // the last one is in another chunk
			b.operator(name, users.RoleAdministrator, name == "boss@example.org") // Locked or not, they have the higher role.
		}
		runImport(t, b.store, importer.Import{Organization: "acme"}, "email,custom__n\nsame@example.org,pro\n")
		return b, olga, root
	}
	rejected := func(b *fixture, job imports.Job) (names []string) {
		for line := range strings.Lines(b.rejected(acme, job.ID)) {
			if _, about, found := strings.Cut(line, "you may not change "); found {
				name, reason, _ := strings.Cut(about, ": ")
				assert.Contains(b, reason, "only administrators can change administrators")
				names = append(names, name)
			}
		}
		return names
	}
	t.Run("InTheDryRunAsInTheRun", func(t *testing.T) {
		t.Parallel()
		b, olga, _ := prepared(t)
		before := people(t, b.store, "acme")
		job := b.run(olga, olga, file)
		assert.Equal(t, imports.Done, job.State)
		assert.Equal(t, []string{"boss@example.org", "user4444@example.org"}, rejected(b, job))
		assert.Equal(t, job.Checked, job.Counts)
		assert.Equal(t, 1, job.Counts.Unchanged, "a row that changes nothing of an administrator is no wrong row")
		assert.Equal(t, job.Rows, job.Counts.Rows())
		after := people(t, b.store, "acme")
		assert.Equal(t, before["boss@example.org"], after["boss@example.org"])
		assert.Equal(t, before["user4444@example.org"], after["user4444@example.org"])
		assert.Equal(t, pro, after["olga@example.org"].fields, "herself she may change")
		assert.Len(t, after, len(before)+job.Counts.Created, "the others of the chunk are written, once")
	})
	t.Run("StartedByAnAdministrator", func(t *testing.T) {
		t.Parallel()
		b, olga, root := prepared(t)
		job := b.run(olga, root, file)
		assert.Equal(t, 2, job.Checked.Rejected-job.Counts.Rejected, "the dry run was the operator's")
		assert.Empty(t, rejected(b, job))
		assert.Equal(t, pro, people(t, b.store, "acme")["boss@example.org"].fields)
	})
	t.Run("ByTheUploader", func(t *testing.T) {
		t.Parallel()
		b, olga, root := prepared(t)
		job := b.run(root, olga, file)
		assert.Equal(t, 2, job.Counts.Rejected-job.Checked.Rejected)
		assert.Len(t, rejected(b, job), 2)
	})
	t.Run("AndTheCommandLineIsNotLimited", func(t *testing.T) {
		t.Parallel()
		b, _, _ := prepared(t)
		runImport(t, b.store, importer.Import{Organization: "acme"}, file)
		assert.Equal(t, pro, people(t, b.store, "acme")["boss@example.org"].fields)
	})
}

// TestImportRevokedRole is about users who lose the right to import while their import runs.
func TestImportRevokedRole(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *fixture){
		"TakenAway": func(b *fixture) { b.operator("olga@example.org", users.RoleViewer, false) },
		"Locked":    func(b *fixture) { b.operator("olga@example.org", users.RoleOperator, true) },
		"Removed": func(b *fixture) {
			require.NoError(b, b.store.Update(b.Context(), func(tx ports.Tx) error {
				org, err := tx.Orgs().BySlug(b.Context(), "acme")
				if err != nil {
					return err
				}
				m, err := tx.Users().ByUsername(b.Context(), org.ID, "olga@example.org")
				if err != nil {
					return err
				}
				return tx.Users().Remove(b.Context(), m)
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, call := range []int{1, 2} { // chunks of the run
				b := newFixture(t, 1<<20)
				olga := b.operator("olga@example.org", users.RoleOperator, false)
				job, err := b.jobs.Upload(t.Context(), olga, acme, importer.Upload{Name: "people.csv", File: strings.NewReader(mixed(4_500))})
				require.NoError(t, err)
				require.True(t, b.importer(nil).WorkOnce(t.Context()))
				require.NoError(t, b.jobs.Start(t.Context(), olga, acme, job.ID))
				i := b.importer(func(s ports.Store) ports.Store {
					return &hookedStore{Store: s, before: func(n int) error {
						if n == call {
							end(b)
						}
						return nil
					}}
				})
				require.True(t, i.WorkOnce(t.Context()))
				job = b.show(acme, job.ID)
				assert.Equal(t, imports.Failed, job.State)
				assert.Equal(t, "the user who started the import may no longer import", job.Reason)
				there := people(t, b.store, "acme")
				delete(there, olga.Name)
				assert.Len(t, there, job.Counts.Created, "what it counts is what it wrote")
				assert.Equal(t, call > 1, job.Counts.Created > 0)
				entries := b.recorded(acme)
				assert.Contains(t, entries[len(entries)-1], "olga@example.org import.end")
				assert.Contains(t, entries[len(entries)-1], "ended_by:the user who started the import may no longer import")
			}
		})
	}
	t.Run("BeforeItIsChecked", func(t *testing.T) {
		t.Parallel()
		b := newFixture(t, 1<<20)
		job, err := b.jobs.Upload(t.Context(), b.operator("olga@example.org", users.RoleOperator, false), acme, importer.Upload{Name: "x", File: strings.NewReader("email\na@example.org\n")})
		require.NoError(t, err)
		b.operator("olga@example.org", users.RoleMember, false)
		require.True(t, b.importer(nil).WorkOnce(t.Context()))
		assert.Equal(t, imports.Failed, b.show(acme, job.ID).State)
	})
}
