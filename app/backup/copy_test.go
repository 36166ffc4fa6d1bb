package backup_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/backup"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

func copied(ctx context.Context, from, to ports.CopyStore) (backup.Summary, error) {
	return backup.Copy(ctx, from, to, backup.Options{By: audit.Actor{Name: "root"}, Now: noon.Add(time.Hour)})
}

// readOnly returns an installation with an entry in its audit log that has been read-only since a
// moment.
func readOnly(t *testing.T, since time.Time) interface {
	ports.CopyStore
	ports.Store
} {
	t.Helper()
	s := newStore(t)
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		return errors.Join(tx.Installation().SetState(t.Context(), installation.State{ReadOnly: since}),
			tx.Audit().Record(t.Context(), audit.Entry{At: noon, Action: audit.LogExported, Object: "a"}))
	}))
	return s
}

func TestCopySourceInUse(t *testing.T) {
	t.Parallel()
	to := newStore(t)
	for _, since := range []time.Time{{}, noon.Add(time.Hour), noon.Add(time.Hour - backup.Settled + time.Millisecond)} {
		_, err := copied(t.Context(), readOnly(t, since), to)
		require.ErrorIs(t, err, backup.ErrInUse)
	}
	done, err := copied(t.Context(), readOnly(t, noon.Add(time.Hour-backup.Settled)), to)
	require.NoError(t, err)
	assert.Positive(t, done.Rows())
	require.NoError(t, to.View(t.Context(), func(tx ports.Tx) error {
		state, err := tx.Installation().State(t.Context())
		assert.Equal(t, installation.State{Held: noon.Add(time.Hour)}, state, "the copy is held, and takes changes")
		found, err2 := tx.Audit().Search(t.Context(), audit.Query{Limit: 10})
		require.Len(t, found.Entries, 2)
		assert.Equal(t, audit.InstallationRestored, found.Entries[0].Action)
		return errors.Join(err, err2)
	}))
	_, err = copied(t.Context(), readOnly(t, noon), to)
	require.ErrorIs(t, err, backup.ErrNotEmpty)
}

// changing is a source with a transaction under way.
type changing struct {
	ports.CopyStore
	since time.Time
}

func (c changing) ChangingSince(context.Context) (time.Time, error) { return c.since, nil }

func TestCopySourceThatChanges(t *testing.T) {
	t.Parallel()
	known := noon.Add(backup.Settled)
	_, err := copied(t.Context(), changing{readOnly(t, noon), known}, newStore(t))
	require.ErrorIs(t, err, backup.ErrInUse)
	require.ErrorContains(t, err, "a transaction that began before")
	_, err = copied(t.Context(), changing{readOnly(t, noon), known.Add(1)}, newStore(t))
	require.NoError(t, err)
}

// tampering changes rows on their way through a store.
type tampering struct {
	ports.CopyStore
	version int64
	sending int64
	insert  func(some [][]any) ([][]any, error)
	read    error
}

func (c tampering) Version(ctx context.Context) (int64, error) {
	v, err := c.CopyStore.Version(ctx)
	return v + c.version, err
}

func (c tampering) ReadTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return c.CopyStore.ReadTables(ctx, func(t ports.Tables, tx ports.Tx) error { return fn(tampered{t, c}, tx) })
}

func (c tampering) WriteTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return c.CopyStore.WriteTables(ctx, func(t ports.Tables, tx ports.Tx) error { return fn(tampered{t, c}, tx) })
}

type rows = ports.Tables

type tampered struct {
	rows
	by tampering
}

func (t tampered) Sending(context.Context) (int64, error) { return t.by.sending, nil }

func (t tampered) Read(ctx context.Context, table ports.Table, after []any, do func([]any) error) error {
	if table.Name == "audit_entries" && t.by.read != nil {
		return t.by.read
	}
	return t.rows.Read(ctx, table, after, do)
}

func (t tampered) Insert(ctx context.Context, table ports.Table, rows [][]any) error {
	if table.Name == "audit_entries" && t.by.insert != nil {
		var err error
		if rows, err = t.by.insert(rows); err != nil {
			return err
		}
	}
	return t.rows.Insert(ctx, table, rows)
}

func TestRestartCopy(t *testing.T) {
	t.Parallel()
	broken := errors.New("the cable was pulled")
	for name, c := range map[string]struct {
		from, to tampering
		want     string
	}{
		"AnotherSchema":     {from: tampering{version: 1}, want: "the source has the schema"},
		"SomethingIsSent":   {from: tampering{sending: 3}, want: "still sending 3 messages"},
		"ReadingFails":      {from: tampering{read: broken}, want: broken.Error()},
		"WritingFails":      {to: tampering{insert: func([][]any) ([][]any, error) { return nil, broken }}, want: broken.Error()},
		"ARowIsLost":        {to: tampering{insert: func(some [][]any) ([][]any, error) { return some[1:], nil }}, want: "audit_entries: 2 rows were read and 1 are there"},
		"AValueIsDifferent": {to: tampering{insert: func(some [][]any) ([][]any, error) { some[0][1] = "other"; return some, nil }}, want: "audit_entries: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, target := readOnly(t, noon), newStore(t)
			require.NoError(t, source.Update(t.Context(), func(tx ports.Tx) error {
				return tx.Audit().Record(t.Context(), audit.Entry{At: noon, Action: audit.LogExported, Object: "b"})
			}))
			c.from.CopyStore, c.to.CopyStore = source, target
			_, err := copied(t.Context(), c.from, c.to)
			require.ErrorContains(t, err, c.want)
			_, err = backup.Copy(t.Context(), source, target, backup.Options{Now: noon.Add(time.Hour), Restart: true})
			require.NoError(t, err, "it can be begun again")
		})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := copied(ended, readOnly(t, noon), newStore(t))
	require.ErrorIs(t, err, context.Canceled)
}

// paging records how many rows, and how many bytes of them, are written at once.
type paging struct {
	ports.CopyStore
	rows, bytes *int
}

func (c paging) WriteTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return c.CopyStore.WriteTables(ctx, func(t ports.Tables, tx ports.Tx) error { return fn(paged{t, c}, tx) })
}

type paged struct {
	rows
	by paging
}

func (p paged) Insert(ctx context.Context, t ports.Table, some [][]any) error {
	var size int
	for _, row := range some {
		for _, v := range row {
			switch known := v.(type) {
			case string:
				size += len(known)
			case []byte:
				size += len(known)
			}
		}
	}
	*p.by.rows = max(*p.by.rows, len(some))
	if len(some) > 1 {
		*p.by.bytes = max(*p.by.bytes, size)
	}
	return p.rows.Insert(ctx, t, some)
}

func TestPageLimits(t *testing.T) {
	t.Parallel()
	s := withPeople(t, newStore(t))
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		for _, size := range []int{10, 500, 500, 2_000, 10, 900} {
			if err := tx.Audit().Record(t.Context(), audit.Entry{At: noon, Action: audit.LogExported, Object: strings.Repeat("a", size)}); err != nil {
				return err
			}
		}
		return nil
	}))
	var c text
	done, err := backup.Write(t.Context(), s, "1.2.3", noon, &c)
	require.NoError(t, err)
	for name, fill := range map[string]func(ports.CopyStore) error{
		"Restore": func(to ports.CopyStore) error { return restore(t.Context(), to, &text{lines: c.lines}) },
		"Copy": func(to ports.CopyStore) error {
			_, err := copied(t.Context(), s, to)
			return err
		},
	} {
		var rows, bytes int
		to := newStore(t)
		require.NoError(t, fill(paging{to, &rows, &bytes}), name)
		assert.Equal(t, backup.PageSize, rows, name)
		assert.Greater(t, bytes, backup.PageBytes/2, name)
		assert.LessOrEqual(t, bytes, backup.PageBytes, name)
		entries := done.Tables[slices.IndexFunc(done.Tables, func(c backup.TableSummary) bool { return c.Table == "audit_entries" })]
		assert.Equal(t, entries.Rows+1, content(t, to)["audit_entries"].Rows, name)
	}
}

// switching is a source whose state changes after it was read.
type switching struct {
	ports.CopyStore
	store ports.Store
	after installation.State
}

func (c switching) ReadTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	err := c.CopyStore.ReadTables(ctx, fn)
	return errors.Join(err, c.store.Update(ctx, func(tx ports.Tx) error { return tx.Installation().SetState(ctx, c.after) }))
}

func TestCopyChangedSource(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]installation.State{
		"ItTakesChanges":  {},
		"IsReadOnlyAgain": {ReadOnly: noon.Add(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, target := readOnly(t, noon), newStore(t)
			_, err := copied(t.Context(), switching{source, source, after}, target)
			require.ErrorIs(t, err, backup.ErrInUse)
			require.ErrorContains(t, err, "was not read-only all the while")
			_, err = backup.Copy(t.Context(), readOnly(t, noon), target, backup.Options{Now: noon.Add(time.Hour), Restart: true})
			require.NoError(t, err)
		})
	}
}

// reading counts the snapshots of a store that are open.
type reading struct {
	ports.CopyStore
	open *atomic.Int32
}

func (c reading) ReadTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	c.open.Add(1)
	defer c.open.Add(-1)
	return c.CopyStore.ReadTables(ctx, fn)
}

// ending signals that everything was copied and is compared.
type ending struct {
	ports.CopyStore
	compares func()
}

func (c ending) WriteTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return c.CopyStore.WriteTables(ctx, func(t ports.Tables, tx ports.Tx) error { return fn(endingTables{t, c.compares}, tx) })
}

type endingTables struct {
	tables
	compares func()
}

// tables has a name that differs from its method's.
type tables interface{ ports.Tables }

func (t endingTables) EndMark(ctx context.Context, m ports.Mark) error {
	t.compares()
	return t.tables.EndMark(ctx, m)
}

// TestCompareWithoutSource checks that no snapshot stays open meanwhile: a server may end a
// transaction in which nothing happens, and comparing takes long.
func TestCompareWithoutSource(t *testing.T) {
	t.Parallel()
	var open atomic.Int32
	compared := false
	_, err := copied(t.Context(), reading{readOnly(t, noon), &open}, ending{newStore(t), func() {
		compared = true
		assert.Zero(t, open.Load(), "a snapshot of the source is open")
	}})
	require.NoError(t, err)
	assert.True(t, compared)
}
