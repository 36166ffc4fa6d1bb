package gormstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
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
		_, err := s.Queue().Expand(t.Context(), 10)
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
