package gormstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// TestFirstMembersReadFewRows is about Postgres, which checks the foreign key of an address with a
// plan for an empty table, and would read all members of the organization with it.
func TestFirstMembersReadFewRows(t *testing.T) {
	t.Parallel()
	s := open(t, databases.Postgres(t)+"&pool_max_conns=3")
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) error {
		_, err := tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "acme", Name: "Acme"})
		return err
	}))
	exec(t, s, "ALTER TABLE members SET (autovacuum_enabled = false)")
	const each, batches = 50, 20
	add := func(n int) {
		b := users.Batch{}
		for i := range each {
			b.Enrollments = append(b.Enrollments, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("p%d-%d@example.org", n, i)}})
		}
		require.NoError(t, enroll(t.Context(), s, "acme", b))
	}
	for n := range batches {
		add(n)
	}
	before := readOf(t, s, "members")
	add(batches)
	assert.Less(t, readOf(t, s, "members")-before, 20*each, "rows and entries of indexes that were read")
}
