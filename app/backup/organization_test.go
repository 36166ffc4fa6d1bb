package backup_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func state(t *testing.T, s *gormstore.Store, to installation.State) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error { return tx.Installation().SetState(t.Context(), to) }))
}

func stateOf(t *testing.T, s *gormstore.Store) (is installation.State) {
	t.Helper()
	require.NoError(t, s.View(t.Context(), func(tx ports.Tx) (err error) {
		is, err = tx.Installation().State(t.Context())
		return err
	}))
	return is
}

// hold holds an unused destination for the time that copyOrganization needs; at the second call a
// millisecond less.
func hold(t *testing.T, from, into *gormstore.Store, slug string) {
	t.Helper()
	for _, age := range []time.Duration{0, backup.Settled - time.Millisecond} {
		_, err := backup.CopyOrganization(t.Context(), from, into, slug, false, backup.Options{Now: noon.Add(time.Hour - backup.Settled + age)})
		require.ErrorIs(t, err, backup.ErrNotHeld)
		require.ErrorContains(t, err, "the destination has been held for less than 3s; repeat the command in a moment")
		require.Equal(t, installation.State{Held: noon.Add(time.Hour - backup.Settled)}, stateOf(t, into), "instances that serve it are told")
	}
}

func copyOrganization(ctx context.Context, from, to ports.CopyStore, slug string) (backup.Summary, error) {
	return backup.CopyOrganization(ctx, from, to, slug, false, backup.Options{By: audit.Actor{Name: "root"}, Now: noon.Add(time.Hour)})
}

// numbers returns the numbers of the organization's members.
func numbers(t *testing.T, s *gormstore.Store, slug string) (all map[string]users.MemberID) {
	t.Helper()
	all = map[string]users.MemberID{}
	require.NoError(t, s.ReadTables(t.Context(), func(tables ports.Tables, _ ports.Tx) error {
		part, _, err := tables.Organization(t.Context(), slug)
		require.NoError(t, err)
		for _, table := range part.Tables() {
			if table.Name != "members" {
				continue
			}
			require.NoError(t, part.Read(t.Context(), table, nil, func(row []any) error {
				member := map[string]any{}
				for i, c := range table.Columns {
					member[c.Name] = row[i]
				}
				all[fmt.Sprint(member["username"])] = users.MemberID(member["id"].(int64)) //nolint:forcetypeassert // A number.
				return nil
			}))
		}
		return nil
	}))
	return all
}

func TestOneOrganizationIsCopied(t *testing.T) {
	t.Parallel()
	for name, to := range map[string][2]func(*testing.T) *gormstore.Store{
		"FromSQLiteToPostgres": {newStore, onPostgres}, "FromPostgresToSQLite": {onPostgres, newStore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, into := withPeople(t, to[0](t)), to[1](t)
			_, err := copyOrganization(t.Context(), from, into, "acme")
			require.ErrorContains(t, err, "the source is not held")
			state(t, from, installation.State{Held: noon, ReadOnly: noon})
			_, err = copyOrganization(t.Context(), from, into, "initech")
			require.ErrorIs(t, err, orgs.ErrNotFound)
			_, err = copyOrganization(t.Context(), from, into, "system")
			require.ErrorIs(t, err, orgs.ErrNotFound)
			assert.Zero(t, stateOf(t, into), "whatever is in the way at the source, the destination stays as it is")

			before := content(t, into)
			counted, err := backup.CountOrganization(t.Context(), from, "acme", backup.Options{Now: noon.Add(time.Hour)})
			require.NoError(t, err)
			tried, err := backup.CopyOrganization(t.Context(), from, into, "acme", true, backup.Options{Now: noon.Add(time.Hour)})
			require.NoError(t, err)
			assert.Equal(t, counted, tried, "without a destination")
			assert.Equal(t, before, content(t, into), "a dry run writes nothing")
			assert.Zero(t, stateOf(t, into), "and holds nothing")
			hold(t, from, into, "acme")
			assert.Equal(t, before, content(t, into))
			done, err := copyOrganization(t.Context(), from, into, "acme")
			require.NoError(t, err)
			assert.Equal(t, tried, done)
			assert.Equal(t, numbers(t, from, "acme"), numbers(t, into, "acme"))
			assert.Len(t, numbers(t, into, "acme"), 7)
			got := content(t, into)
			assert.EqualValues(t, 2, got["organizations"].Rows, "acme, and that of the system; not globex")
			assert.EqualValues(t, 7, got["members"].Rows)
			assert.EqualValues(t, 1, got["word_builds"].Rows-before["word_builds"].Rows, "its people are indexed anew")
			assert.Equal(t, installation.State{Held: noon.Add(time.Hour - backup.Settled)}, stateOf(t, into))

			_, err = copyOrganization(t.Context(), from, into, "acme")
			require.ErrorIs(t, err, backup.ErrTaken)
			assert.Equal(t, got, content(t, into), "nothing was changed")
			state(t, into, installation.State{})
			_, err = copyOrganization(t.Context(), from, into, "globex")
			require.ErrorContains(t, err, "the destination is not held")
			state(t, into, installation.State{Held: noon})

			// Both continue, and their new rows get different numbers.
			for _, s := range []*gormstore.Store{from, into} {
				require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
					_, err := app.Enroll(t.Context(), tx, "acme", users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: fmt.Sprintf("%p@example.org", s)}}}})
					return err
				}))
			}
			_, err = copyOrganization(t.Context(), from, into, "globex")
			require.NoError(t, err, "people whom the destination knows from acme are the same")
			assert.Equal(t, numbers(t, from, "globex"), numbers(t, into, "globex"))
			assert.EqualValues(t, 8, content(t, into)["users"].Rows)
		})
	}
}

func TestAReadOnlyDestinationTakesNothing(t *testing.T) {
	t.Parallel()
	from, into := withPeople(t, newStore(t)), newStore(t)
	state(t, from, installation.State{Held: noon, ReadOnly: noon})
	before := content(t, into)
	for _, is := range []installation.State{{ReadOnly: noon}, {Held: noon, ReadOnly: noon, Notice: "The disk grows."}} {
		state(t, into, is)
		for _, dry := range []bool{true, false} {
			_, err := backup.CopyOrganization(t.Context(), from, into, "acme", dry, backup.Options{Now: noon.Add(time.Hour)})
			require.ErrorIs(t, err, installation.ErrReadOnly)
			require.ErrorContains(t, err, "the destination is read-only")
			assert.Equal(t, is, stateOf(t, into))
			assert.Equal(t, before, content(t, into))
		}
	}
}

// TestStateSetDuringCopy changes the state of a destination while the source is read. On SQLite
// that waits until the copy has ended.
func TestStateSetDuringCopy(t *testing.T) {
	t.Parallel()
	from, into := withPeople(t, newStore(t)), onPostgres(t)
	held := installation.State{Held: noon}
	state(t, from, installation.State{Held: noon, ReadOnly: noon})
	for _, told := range []installation.State{{}, {Held: noon, ReadOnly: noon}, {Held: noon.Add(time.Minute)}} {
		state(t, into, held)
		before := content(t, into)
		// The source is checked twice, and once more after it was read.
		reads := 0
		_, err := copyOrganization(t.Context(), telling{from, func() {
			if reads++; reads == 3 {
				state(t, into, told)
			}
		}}, into, "acme")
		require.ErrorContains(t, err, "the state of the destination was changed during the copy")
		assert.Equal(t, told, stateOf(t, into))
		assert.Equal(t, before, content(t, into))
	}
	state(t, into, held)
	_, err := copyOrganization(t.Context(), from, into, "acme")
	require.NoError(t, err)
	assert.Equal(t, held, stateOf(t, into))
}

// telling is a source that calls a function when it is read.
type telling struct {
	ports.CopyStore
	tell func()
}

func (c telling) ReadTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	c.tell()
	return c.CopyStore.ReadTables(ctx, fn)
}

func TestCopyOrganizationTakenUsernames(t *testing.T) {
	t.Parallel()
	from, into := withPeople(t, newStore(t)), newStore(t)
	state(t, from, installation.State{Held: noon, ReadOnly: noon})
	require.NoError(t, into.Update(t.Context(), func(tx ports.Tx) error {
		_, _, err := tx.Users().Ensure(t.Context(), []users.User{{Username: "x"}, {Username: "5@example.org"}})
		return err
	}))
	state(t, into, installation.State{Held: noon})
	before := content(t, into)
	_, err := copyOrganization(t.Context(), from, into, "acme")
	require.ErrorIs(t, err, backup.ErrTaken)
	require.ErrorContains(t, err, "5@example.org")
	assert.Equal(t, before, content(t, into))
}

func TestCopyOrganizationWithRunningImport(t *testing.T) {
	t.Parallel()
	from, into := withPeople(t, newStore(t)), newStore(t)
	state(t, into, installation.State{Held: noon})
	before := content(t, into)
	for is, way := range map[imports.State]error{imports.Checking: backup.ErrImports, imports.Running: backup.ErrImports, imports.Undoing: backup.ErrImports, imports.Checked: nil} {
		var job imports.Job
		state(t, from, installation.State{})
		require.NoError(t, from.Update(t.Context(), func(tx ports.Tx) error {
			org, err := tx.Orgs().BySlug(t.Context(), "acme")
			require.NoError(t, err)
			job = imports.NewJob(org.ID, "people.csv", "", orgs.Group{}, audit.Actor{}, noon)
			job.State = is
			job, err = tx.Imports().Create(t.Context(), job)
			return err
		}))
		state(t, from, installation.State{Held: noon, ReadOnly: noon})
		for name, copying := range map[string]func() (backup.Summary, error){
			"count": func() (backup.Summary, error) {
				return backup.CountOrganization(t.Context(), from, "acme", backup.Options{Now: noon.Add(time.Hour)})
			},
			"dry run": func() (backup.Summary, error) {
				return backup.CopyOrganization(t.Context(), from, into, "acme", true, backup.Options{Now: noon.Add(time.Hour)})
			},
		} {
			_, err := copying()
			require.ErrorIs(t, err, way, "%s, %s", is, name)
		}
		if way != nil {
			_, err := copyOrganization(t.Context(), from, into, "acme")
			require.ErrorIs(t, err, way)
			require.ErrorContains(t, err, fmt.Sprintf("the import %d of the organization is under way (%s)", job.ID, is))
		}
		assert.Equal(t, before, content(t, into))
		require.NoError(t, from.Update(t.Context(), func(tx ports.Tx) error { return tx.Imports().Remove(t.Context(), job.ID) }))
	}
}
