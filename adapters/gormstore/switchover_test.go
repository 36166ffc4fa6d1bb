package gormstore_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// TestServerBecomesReadOnly is about a switch-over that leaves connections to the former primary
// open, while new ones lead to the new primary. After the first refusal all old ones are closed.
func TestServerBecomesReadOnly(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		const connections = 4
		s := open(t, databases.Postgres(t)+"&pool_max_conns=4")
		var all [connections]*sql.Conn
		for i := range all {
			conn, err := s.Handle().Conn(t.Context())
			require.NoError(t, err)
			_, err = conn.ExecContext(t.Context(), "SET default_transaction_read_only = on")
			require.NoError(t, err)
			all[i] = conn
		}
		for _, conn := range all {
			require.NoError(t, conn.Close())
		}
		require.ErrorIs(t, s.Update(t.Context(), creating(t.Context(), "acme")), ports.ErrUnavailable)
		for i := range connections {
			require.NoError(t, s.Update(t.Context(), creating(t.Context(), fmt.Sprintf("acme-%d", i))))
		}
	})
}

// TestColumnAddedWhileOpen is about an instance of the previous release: the statements that it has
// prepared on each connection are older than the schema. Units of work do not fail, and at most one
// view does, temporarily.
func TestColumnAddedWhileOpen(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		const connections = 4
		s := open(t, databases.Postgres(t)+"&pool_max_conns=4")
		require.NoError(t, s.Update(t.Context(), creating(t.Context(), "acme")))
		find := func(tx ports.Tx) error {
			_, err := tx.Orgs().First(t.Context())
			return err
		}
		prepare := func() {
			var nested func(n int) error
			nested = func(n int) error {
				return s.View(t.Context(), func(tx ports.Tx) error {
					if n > 1 {
						if err := nested(n - 1); err != nil {
							return err
						}
					}
					return find(tx)
				})
			}
			require.NoError(t, nested(connections), "every connection has it prepared")
		}
		add := func(column string) {
			_, err := s.Handle().ExecContext(t.Context(), "ALTER TABLE organizations ADD COLUMN "+column+" TEXT")
			require.NoError(t, err)
		}
		prepare()
		add("one")
		for n := range 3 * connections {
			require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
				if err := find(tx); err != nil {
					return err
				}
				return creating(t.Context(), fmt.Sprintf("acme-%d", n))(tx)
			}), "it is run again")
		}
		prepare()
		add("two")
		failed := 0
		for range 3 * connections {
			if err := s.View(t.Context(), find); err != nil {
				require.ErrorIs(t, err, ports.ErrUnavailable)
				failed++
			}
		}
		assert.LessOrEqual(t, failed, 1)
	})
}
