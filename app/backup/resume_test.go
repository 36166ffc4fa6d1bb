package backup_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/databases"
)

func opened(t *testing.T, url string) *gormstore.Store {
	t.Helper()
	s, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clocks.At(noon)})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// onPostgres returns an empty database.
func onPostgres(t *testing.T) *gormstore.Store {
	t.Helper()
	return opened(t, databases.Postgres(t))
}

// withPeople fills an installation with users in two organizations and makes it read-only.
func withPeople(t *testing.T, s *gormstore.Store) *gormstore.Store {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, s.Update(ctx, func(tx ports.Tx) error {
		for _, slug := range []string{"acme", "globex"} {
			_, err := tx.Orgs().Create(ctx, orgs.Organization{Slug: slug, Name: slug})
			require.NoError(t, err)
			var b users.Batch
			for i := range 7 {
				b.Enrollments = append(b.Enrollments, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("%d@example.org", i)}})
			}
			_, err = app.Enroll(ctx, tx, slug, b)
			require.NoError(t, err)
		}
		return tx.Installation().SetState(ctx, installation.State{ReadOnly: noon})
	}))
	return s
}

var errKilled = errors.New("killed")

// cut fails after some units of work.
type cut struct {
	ports.CopyStore
	units     *int // that succeed
	committed bool // the last unit is committed all the same
}

func (c cut) WriteTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	if *c.units--; *c.units >= 0 {
		return c.CopyStore.WriteTables(ctx, fn)
	}
	err := c.CopyStore.WriteTables(ctx, func(t ports.Tables, tx ports.Tx) error {
		if err := fn(t, tx); err != nil || c.committed {
			return err
		}
		return errKilled
	})
	return errors.Join(err, errKilled)
}

// content returns the tables of an installation with their sums.
func content(t *testing.T, s ports.CopyStore) map[string]backup.TableSummary {
	t.Helper()
	done, err := backup.Write(t.Context(), s, "1.2.3", noon, &text{})
	require.NoError(t, err)
	all := map[string]backup.TableSummary{}
	for _, c := range done.Tables {
		all[c.Table] = c
	}
	return all
}

func TestResumeCopy(t *testing.T) {
	t.Parallel()
	for name, to := range map[string][2]func(*testing.T) *gormstore.Store{
		"FromSQLiteToPostgres": {newStore, onPostgres}, "FromPostgresToSQLite": {onPostgres, newStore},
	} {
		for _, committed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, committed), func(t *testing.T) {
				t.Parallel()
				from, into := withPeople(t, to[0](t)), to[1](t)
				want := content(t, from)
				var done backup.Summary
				err := errKilled
				interrupted := 0
				for ; errors.Is(err, errKilled); interrupted++ { // after each unit that writes
					require.Less(t, interrupted, 200)
					units := 2 - min(interrupted, 1)
					if !committed {
						units++
					}
					done, err = copied(t.Context(), from, cut{into, &units, committed})
					assert.Equal(t, interrupted > 0, done.Resumed)
					if err != nil {
						require.ErrorIs(t, err, errKilled)
						ready := into.Ready(t.Context())
						if units == -1 && committed && ready == nil {
							err = nil // That unit was the last one.
							continue
						}
						require.ErrorIs(t, ready, ports.ErrIncomplete)
						assert.ErrorContains(t, ready, "repeat `tocsin copy`")
					}
				}
				require.NoError(t, err)
				assert.Greater(t, interrupted, 20)
				require.NoError(t, into.Ready(t.Context()))
				got := content(t, into)
				for _, c := range done.Tables {
					assert.Equal(t, want[c.Table], c)
				}
				assert.EqualValues(t, 1, got["audit_entries"].Rows-want["audit_entries"].Rows, "that it was copied")
				delete(got, "audit_entries")
				delete(want, "audit_entries")
				assert.Equal(t, want, got)
				require.NoError(t, into.View(t.Context(), func(tx ports.Tx) error {
					state, err := tx.Installation().State(t.Context())
					assert.Equal(t, installation.State{Held: noon.Add(time.Hour)}, state)
					return err
				}))
			})
		}
	}
}

// half returns a store with an interrupted copy.
func half(t *testing.T, from ports.CopyStore, into *gormstore.Store) *gormstore.Store {
	t.Helper()
	units := 5
	_, err := copied(t.Context(), from, cut{into, &units, false})
	require.ErrorIs(t, err, errKilled)
	return into
}

func TestIncompleteCopy(t *testing.T) {
	t.Parallel()
	from := withPeople(t, newStore(t))
	for name, into := range map[string]*gormstore.Store{"sqlite": newStore(t), "postgres": onPostgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			into := half(t, from, into)
			require.ErrorIs(t, into.Migrate(t.Context()), ports.ErrIncomplete)
			_, err := backup.Write(t.Context(), into, "1.2.3", noon, &text{})
			require.ErrorIs(t, err, ports.ErrIncomplete)
			require.ErrorIs(t, restore(t.Context(), into, &text{lines: taken(t)}), ports.ErrIncomplete)
			_, err = copied(t.Context(), into, newStore(t))
			require.ErrorIs(t, err, ports.ErrIncomplete)
			require.NoError(t, into.View(t.Context(), func(tx ports.Tx) error {
				state, err := tx.Installation().State(t.Context())
				assert.False(t, state.Sends(), "whoever serves it already sends nothing")
				require.ErrorIs(t, state.Writable(), installation.ErrReadOnly)
				return err
			}))
		})
	}
}

func TestResumeWithOtherSource(t *testing.T) {
	t.Parallel()
	from, into := withPeople(t, newStore(t)), newStore(t)
	half(t, from, into)
	change := func(since time.Time) {
		require.NoError(t, from.Update(t.Context(), func(tx ports.Tx) error {
			return errors.Join(tx.Installation().SetState(t.Context(), installation.State{ReadOnly: since}),
				tx.Audit().Record(t.Context(), audit.Entry{At: noon, Action: audit.LogExported, Object: "a"}))
		}))
	}
	change(noon.Add(time.Second))
	_, err := copied(t.Context(), from, into)
	require.ErrorIs(t, err, backup.ErrChanged)
	restart := backup.Options{By: audit.Actor{Name: "root"}, Now: noon.Add(time.Hour), Restart: true}
	units := 12
	_, err = backup.Copy(t.Context(), from, cut{into, &units, false}, restart)
	require.ErrorIs(t, err, errKilled)
	units = 0
	change(noon.Add(time.Second)) // bypassing those who read the state
	_, err = copied(t.Context(), from, into)
	require.ErrorContains(t, err, "audit_entries: ")
	require.ErrorContains(t, err, "begin again with --restart")
	require.ErrorIs(t, into.Ready(t.Context()), ports.ErrIncomplete)
	done, err := backup.Copy(t.Context(), from, into, restart)
	require.NoError(t, err)
	assert.False(t, done.Resumed)
	require.NoError(t, into.Ready(t.Context()))
	_, err = backup.Copy(t.Context(), from, into, restart)
	require.ErrorIs(t, err, backup.ErrNotEmpty, "a copy that is complete is not begun again")
}

// meddling lets another copy write before each unit.
type meddling struct {
	ports.CopyStore
	by func() error
}

func (m meddling) WriteTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	if m.by != nil {
		if err := m.by(); err != nil {
			return err
		}
	}
	return m.CopyStore.WriteTables(ctx, fn)
}

func TestTwoCopiesDoNotMix(t *testing.T) {
	t.Parallel()
	from := withPeople(t, opened(t, databases.SQLite(t))) // Both read it at once.
	for name, into := range map[string]*gormstore.Store{"sqlite": newStore(t), "postgres": onPostgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			half(t, from, into)
			calls := 0
			_, err := copied(t.Context(), from, meddling{into, func() error {
				if calls++; calls != 3 {
					return nil
				}
				units := 2
				if _, err := copied(t.Context(), from, cut{into, &units, false}); !errors.Is(err, errKilled) {
					return fmt.Errorf("the other copy: %w", err)
				}
				return nil
			}})
			require.ErrorIs(t, err, ports.ErrOtherCopy)
			_, err = copied(t.Context(), from, into)
			require.NoError(t, err)
			require.NoError(t, into.Ready(t.Context()))
		})
	}
}
