package gormstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// TestImportPlans checks that no statement about imports reads a whole table, and that none sorts
// more than the few imports in progress or of the last days. It uses SQLite, where plans do not
// depend on the number of rows.
func TestImportPlans(t *testing.T) {
	t.Parallel()
	s := open(t, "sqlite::memory:")
	org := newPost(t, s).channel.Organization
	var heard []string
	s.Overhear(func(statement string) { heard = append(heard, statement) })
	now := time.Now()
	ctx := t.Context()
	require.NoError(t, s.Update(ctx, func(tx ports.Tx) error {
		r := tx.Imports()
		j, err := r.Create(ctx, imports.NewJob(org, "people.csv", "", orgs.Group{}, audit.Actor{}, now))
		require.NoError(t, err)
		require.NoError(t, r.AddPiece(ctx, j.ID, 0, []byte("email\n")))
		_, err = r.Piece(ctx, j.ID, 0)
		require.NoError(t, err)
		require.NoError(t, r.ReplacePiece(ctx, j.ID, 0, []byte("email\n")))
		m := imports.Mapping{{Name: "email", Field: imports.Email}}
		require.NoError(t, r.SaveMapping(ctx, org, m, now))
		_, err = r.Mapping(ctx, org, m.Digest())
		require.NoError(t, err)
		j, err = r.Save(ctx, j.Complete(imports.Header{}, nil, 6, now))
		require.NoError(t, err)
		_, err = r.ByID(ctx, org, j.ID)
		require.NoError(t, err)
		_, err = r.Next(ctx, now)
		require.NoError(t, err)
		for _, before := range []imports.ID{0, 9} {
			found, err := r.List(ctx, org, before, 10)
			require.NoError(t, err)
			require.Len(t, found, 1)
		}
		n, err := tx.Orgs().Count(ctx, org, quotas.Imports)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		_, err = r.Idle(ctx, imports.Checked, now, 10)
		require.NoError(t, err)
		_, err = r.WithLeftoverFile(ctx, 10)
		require.NoError(t, err)
		require.NoError(t, r.SaveRejected(ctx, j.ID, []imports.RejectedRow{{Line: 2}}))
		_, err = r.Rejected(ctx, j.ID, 0, 10)
		require.NoError(t, err)
		require.NoError(t, r.ForgetRejected(ctx, j.ID))
		require.NoError(t, r.SaveCreations(ctx, j.ID, now, imports.Creations{People: []imports.Creation{{Member: 1}}}))
		_, err = r.Creations(ctx, j.ID, 0)
		require.NoError(t, err)
		_, err = r.CountCreations(ctx, j.ID)
		require.NoError(t, err)
		_, err = r.WithExpiredCreations(ctx, now, 10)
		require.NoError(t, err)
		_, err = r.Follower(ctx, j)
		require.ErrorIs(t, err, imports.ErrNotFound)
		_, err = r.ForgetCreations(ctx, j.ID, 10)
		require.NoError(t, err)
		_, err = r.RemovePieces(ctx, j.ID, 10)
		require.NoError(t, err)
		return r.Remove(ctx, j.ID)
	}))
	require.Greater(t, len(heard), 15)
	for _, statement := range heard {
		if strings.HasPrefix(statement, "INSERT") {
			continue // It has no plan.
		}
		plan := strings.Join(lines(t, s.Handle(), 3, "EXPLAIN QUERY PLAN "+strings.ReplaceAll(statement, `"`, "'")), "\n") // "checked" would be a column
		assert.NotRegexp(t, `(?m)SCAN (imports|import_pieces|import_rejects|import_creations|import_mappings|c|i|o)$`, plan, statement)
		if strings.Contains(plan, "TEMP B-TREE") && !strings.Contains(statement, "import_mappings") { // An organization has few of these.
			assert.Contains(t, plan, "imports_state", statement)
		}
	}
}
