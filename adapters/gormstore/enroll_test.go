package gormstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// unmatched is a store whose units may not read members by their keys.
type unmatched struct {
	ports.Store
	t *testing.T
}

func (u unmatched) Update(ctx context.Context, fn func(ports.Tx) error) error {
	return u.Store.Update(ctx, func(tx ports.Tx) error { return fn(unmatchedTx{tx, u.t}) })
}

type unmatchedTx struct {
	ports.Tx
	t *testing.T
}

func (u unmatchedTx) Users() users.Repository { return unmatchedUsers{u.Tx.Users(), u.t} }

type unmatchedUsers struct {
	users.Repository
	t *testing.T
}

func (u unmatchedUsers) Matches(context.Context, orgs.ID, []string, int) ([]users.Match, error) {
	u.t.Error("the metadata was read")
	return nil, nil
}

// TestTooMuchMetadataIsNotRead checks that a call for many existing users is refused before their
// metadata is read.
func TestTooMuchMetadataIsNotRead(t *testing.T) {
	t.Parallel()
	s := open(t, databases.SQLite(t))
	newOrganization(t, s, "acme")
	acme, by := app.Path{Organization: "acme"}, audit.Actor{Name: "k"}
	people := make([]users.Enrollment, 40)
	for i := range people {
		people[i] = users.Enrollment{Details: users.Details{Email: fmt.Sprintf("person%d@example.org", i)}, CustomFields: metadata.Map{"x": strings.Repeat("x", 60_000)}}
	}
	for half := range slices.Chunk(people, 20) {
		_, err := app.NewUsers(s, batch.Pair).CreateAll(t.Context(), by, acme, half)
		require.NoError(t, err)
	}
	for i := range people {
		people[i].CustomFields = nil
	}
	_, err := app.NewUsers(unmatched{s, t}, batch.Pair).CreateAll(t.Context(), by, acme, people)
	require.ErrorContains(t, err, "more than 2 MiB of metadata together")
	done, err := app.NewUsers(s, batch.Pair).CreateAll(t.Context(), by, acme, people[:30])
	require.NoError(t, err)
	require.Len(t, done, 30)
}

// TestConcurrentEnroll is about two instances on one database that create the same people at the
// same time. One of them creates each, with one audit entry. All fields that imports merge are
// kept.
func TestConcurrentEnroll(t *testing.T) {
	t.Parallel()
	const people, callers = 5, 8
	url := databases.Postgres(t)
	instances := []*gormstore.Store{open(t, url), open(t, url)}
	newOrganization(t, instances[0], "acme")
	var created atomic.Int64
	var all sync.WaitGroup
	for _, s := range instances {
		use := app.NewUsers(s, batch.Pair)
		for caller := range callers {
			all.Go(func() {
				for i := range people {
					email := fmt.Sprintf("person%d@example.org", (caller+i)%people)
					done, err := use.Create(t.Context(), audit.Actor{Name: "k"}, app.Path{Organization: "acme"}, users.Enrollment{Details: users.Details{Email: email}})
					if assert.NoError(t, err) && done.Created {
						created.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	assert.EqualValues(t, people, created.Load())
	for n, s := range instances {
		for caller := range callers {
			all.Go(func() {
				batch := users.Batch{MergeFields: true}
				for i := range people {
					batch.Enrollments = append(batch.Enrollments, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("person%d@example.org", (caller+i)%people)},
						CustomFields: metadata.Map{fmt.Sprint(n, " ", caller): true}})
				}
				assert.NoError(t, enroll(t.Context(), s, "acme", batch))
			})
		}
	}
	all.Wait()
	require.NoError(t, instances[0].View(t.Context(), func(tx ports.Tx) error {
		acme, err := tx.Orgs().BySlug(t.Context(), "acme")
		require.NoError(t, err)
		members, err := tx.Users().List(t.Context(), acme.ID, 0, 100)
		require.NoError(t, err)
		require.Len(t, members, people)
		for _, m := range members {
			assert.Len(t, m.CustomFields, 2*callers, "no merge is lost")
			held, err := tx.Addresses().List(t.Context(), acme.ID, m.ID, 0, 10)
			require.NoError(t, err)
			assert.Len(t, held, 1)
		}
		found, err := tx.Audit().Search(t.Context(), audit.Query{Organization: acme.ID, Action: "member.", Limit: 100})
		require.NoError(t, err)
		assert.Len(t, found.Entries, people)
		return nil
	}))
}
