package gormstore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// values is a query of a value of each type that the schema and its statements know.
const values = `SELECT 1::smallint AS a, 2::integer AS b, 3::bigint AS c, 4.5::double precision AS d, 5.5::real AS e, sum(6::bigint) AS f, true AS g,
	'seven'::text AS h, '\x08'::bytea AS i, timestamptz '2026-01-02 03:04:05.678901+05' AS j, date '2026-01-02' AS k, '{"l": 9}'::json AS l, '{"m": 9}'::jsonb AS m,
	NULL::text AS n, 'x'::varchar AS o, ARRAY['y', NULL] AS p, 'z'::name AS q, 10::oid AS r, '{1,2}'::bigint[] AS t, count(*) AS u,
	timestamp '2026-01-02 03:04:05' AS v`

// TestFirstStatementSnapshot is about Postgres, where the first statement is sent together with the
// beginning of the transaction.
func TestFirstStatementSnapshot(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
		first, err := gormstore.Read(t.Context(), tx, values)
		require.NoError(t, err)
		second, err := gormstore.Read(t.Context(), tx, values)
		require.NoError(t, err)
		require.Len(t, first, 1)
		assert.Equal(t, second, first)
		return nil
	}))
	require.NoError(t, s.View(t.Context(), func(tx ports.Tx) error {
		none, err := gormstore.Read(t.Context(), tx, "SELECT id, slug FROM organizations WHERE id < 0")
		require.NoError(t, err)
		assert.Empty(t, none)
		some, err := gormstore.Read(t.Context(), tx, "SELECT n FROM generate_series(1, 1000) AS s(n)")
		require.NoError(t, err)
		assert.Len(t, some, 1000)
		return nil
	}))
}

// TestStatementOutsideTransaction checks that no statement runs outside of a transaction that could
// not begin because its first statement was refused.
func TestStatementOutsideTransaction(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t))
	ctx := t.Context()
	exists := func() bool {
		_, err := ports.View(ctx, s, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(ctx, "acme") })
		if !errors.Is(err, orgs.ErrNotFound) {
			require.NoError(t, err)
		}
		return err == nil
	}
	for _, refused := range []string{"SELECT nothing FROM nowhere", "SELECT 1 / 0"} {
		err := s.Update(ctx, func(tx ports.Tx) error {
			_, err := gormstore.Read(ctx, tx, refused)
			require.Error(t, err)
			_, err = tx.Orgs().Create(ctx, orgs.Organization{Slug: "acme", Name: "Acme"})
			require.Error(t, err)
			return nil // The commit is refused as well.
		})
		require.Error(t, err, refused)
		assert.False(t, exists(), refused)
	}
	require.NoError(t, s.Update(ctx, func(ports.Tx) error { return nil }), "a transaction without a statement")
	require.NoError(t, s.Update(ctx, func(tx ports.Tx) error {
		_, err := tx.Orgs().Create(ctx, orgs.Organization{Slug: "acme", Name: "Acme"})
		return err
	}), "the connection can be used again")
	assert.True(t, exists())
}
