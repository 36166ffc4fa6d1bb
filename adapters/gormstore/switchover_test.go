package gormstore_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/pgtest"
)

// TestAServerThatTurnsReadOnly is about a switch-over that leaves connections to the former primary
// open, while new ones lead to the new primary: the first refusal gives up all of them.
func TestAServerThatTurnsReadOnly(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		const connections = 4
		s := open(t, pgtest.New(t)+"&pool_max_conns=4")
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
