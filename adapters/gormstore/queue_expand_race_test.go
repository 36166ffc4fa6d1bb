package gormstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/databases"
)

// openAsOther opens a Postgres database as a role that may do everything with its rows, and owns
// nothing.
func openAsOther(t *testing.T, owned *gormstore.Store, address string) *gormstore.Store {
	t.Helper()
	at, err := url.Parse(address)
	require.NoError(t, err)
	role := "tocsin_test_" + strings.ToLower(rand.Text())
	at.User = url.UserPassword(role, "secret")
	exec(t, owned, fmt.Sprintf(`CREATE ROLE %[1]s LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA public TO %[1]s;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %[1]s; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO %[1]s`, role))
	t.Cleanup(func() {
		_, err := owned.Handle().ExecContext(context.Background(), fmt.Sprintf("DROP OWNED BY %[1]s; DROP ROLE %[1]s", role))
		assert.NoError(t, err)
	})
	return open(t, at.String())
}

// TestExpansionResumes is about another worker that finishes a page after Postgres has begun the
// statement that looks for an occurrence, and before it finds one: a policy makes it wait for an
// advisory lock there.
func TestExpansionResumes(t *testing.T) {
	t.Parallel()
	address := databases.Postgres(t) + "&pool_max_conns=4"
	owned := open(t, address)
	p := newPost(t, owned)
	o := p.trigger(t, nil, nil)
	exec(t, owned, `CREATE FUNCTION wait_for_test() RETURNS BOOLEAN LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_advisory_lock_shared(4711); PERFORM pg_advisory_unlock_shared(4711); RETURN TRUE; END';
		ALTER TABLE occurrences ENABLE ROW LEVEL SECURITY;
		CREATE POLICY slow ON occurrences USING (wait_for_test())`)
	other := openAsOther(t, owned, address)
	gate, err := owned.Handle().Conn(t.Context())
	require.NoError(t, err)
	defer gate.Close()
	on(t, gate, "SELECT pg_advisory_lock(4711)")

	type result struct {
		done deliveries.Expansion
		err  error
	}
	results := make(chan result, 1)
	go func() {
		done, err := other.Queue().Expand(context.Background(), deliveries.AllOccurrences, 100)
		results <- result{done, err}
	}()
	require.Eventually(t, func() bool {
		var waits bool
		err := owned.Handle().QueryRowContext(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted)").Scan(&waits)
		return err == nil && waits
	}, 10*time.Second, 5*time.Millisecond)
	exec(t, owned, fmt.Sprintf("UPDATE occurrences SET cursor_notification = 1000 WHERE id = %d", o.ID))
	on(t, gate, "SELECT pg_advisory_unlock(4711)")
	got := <-results
	require.NoError(t, got.err)
	assert.Equal(t, o.ID, got.done.Occurrence)
	assert.Zero(t, got.done.Deliveries, "the page was not written again")
}

func on(t *testing.T, conn *sql.Conn, statement string) {
	t.Helper()
	_, err := conn.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}
