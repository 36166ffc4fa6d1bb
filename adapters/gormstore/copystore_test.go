package gormstore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// A copy of an installation needs to know whether outcomes of messages will still be recorded.
func TestSendingCount(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		p := newPost(t, s)
		sending := func() (n int64) {
			t.Helper()
			require.NoError(t, s.ReadTables(t.Context(), func(tables ports.Tables, _ ports.Tx) (err error) {
				n, err = tables.Sending(t.Context())
				return err
			}))
			return n
		}
		p.trigger(t, nil, nil)
		_, err := s.Queue().Expand(t.Context(), deliveries.AllOccurrences, 10)
		require.NoError(t, err)
		assert.Zero(t, sending(), "it waits")
		jobs, err := s.Queue().Claim(t.Context(), p.channel.ID, "a", 10, time.Minute)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		assert.EqualValues(t, 1, sending())
		_, err = s.Queue().Renew(t.Context(), "a", []deliveries.ID{jobs[0].ID}, -time.Minute)
		require.NoError(t, err)
		assert.Zero(t, sending(), "its lease has ended: nobody sends it any more")
	})
}

// Litestream creates its own tables, one of them without a key.
func TestToolTablesAreExcluded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		exec(t, s, "CREATE TABLE _litestream_lock (id INTEGER)")
		exec(t, s, "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq REAL)")
		require.NoError(t, s.ReadTables(t.Context(), func(tables ports.Tables, _ ports.Tx) error {
			assert.NotEmpty(t, tables.Tables())
			for _, table := range tables.Tables() {
				assert.NotContains(t, table.Name, "litestream")
			}
			return nil
		}))
		all, err := s.Verify(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, all)
		for _, f := range all {
			assert.Empty(t, f.Wrong, f.Check)
		}
	})
}

// TestChangingSince is about a copy that must not miss a change that is under way: on Postgres it
// is seen, and on SQLite it is waited for.
func TestChangingSince(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		s, other := open(t, url), open(t, url)
		before := time.Now().Add(-time.Minute)
		begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- other.Update(t.Context(), func(tx ports.Tx) error {
				_, err := tx.Orgs().List(t.Context(), 0, 1)
				close(begun)
				<-end
				return err
			})
		}()
		<-begun
		changingSince := func() time.Time {
			since, err := s.ChangingSince(t.Context())
			assert.NoError(t, err)
			return since
		}
		if strings.HasPrefix(url, "postgres") {
			assert.WithinRange(t, changingSince(), before, time.Now())
			close(end)
			require.NoError(t, <-ended)
		} else {
			waited := make(chan time.Time)
			go func() { waited <- changingSince() }()
			close(end)
			require.NoError(t, <-ended)
			assert.Zero(t, <-waited)
		}
		assert.Zero(t, changingSince())
	})
}

// TestSilentCopy is about a database that stops answering while a backup reads it: here another
// session keeps a table locked. The slow reader of a row counts no silence.
func TestSilentCopy(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	newPost(t, s)
	// Both times are long and short enough for a machine that stalls for a moment.
	const long, short = 3 * time.Second, 100 * time.Millisecond
	require.NoError(t, s.SetMaxSilence(t.Context(), long))
	read := func(do func([]any) error) error {
		return s.ReadTables(t.Context(), func(all ports.Tables, _ ports.Tx) error {
			is := func(of ports.Table) bool { return of.Name == "members" }
			return all.Read(t.Context(), all.Tables()[slices.IndexFunc(all.Tables(), is)], nil, do)
		})
	}
	rows := 0
	require.NoError(t, read(func([]any) error {
		if rows++; rows == 1 {
			<-time.After(long + short)
		}
		return nil
	}))
	assert.Positive(t, rows)
	require.NoError(t, s.SetMaxSilence(t.Context(), short))
	conn := planning(t, s)
	for _, statement := range []string{"BEGIN", "LOCK TABLE members IN ACCESS EXCLUSIVE MODE"} {
		_, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	assert.ErrorContains(t, read(func([]any) error { return nil }), "read members: the database sent no row for too long")
}
