package gormstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

// TestBatchesOfLargeMetadata checks that a batch of members ends by the size of their metadata, and
// that the batches lead to all of them.
func TestBatchesOfLargeMetadata(t *testing.T) {
	t.Parallel()
	const people, most = 20, 5 // of 60,000 bytes: more than 256 KiB
	onEach(t, func(t *testing.T, url string) {
		s := open(t, url)
		newOrganization(t, s, "acme")
		acme, use := app.Path{Organization: "acme"}, app.NewUsers(s, batch.Pair)
		all := make([]users.Enrollment, people)
		for i := range all {
			all[i] = users.Enrollment{Details: users.Details{Email: fmt.Sprintf("person%d@example.org", i)}, CustomFields: metadata.Map{"x": strings.Repeat("x", 60_000)}}
		}
		_, err := use.CreateAll(t.Context(), audit.Actor{Name: "k"}, acme, all)
		require.NoError(t, err)
		n, more, err := use.Count(t.Context(), acme, app.MemberFilter{Query: users.Query{Active: true}}, 100)
		require.NoError(t, err)
		assert.Equal(t, people, n)
		assert.False(t, more)

		search := func(q users.Query) func(context.Context, users.Cursor) (users.Found, error) {
			return func(ctx context.Context, after users.Cursor) (users.Found, error) {
				q.After, q.Limit = after, 250
				return app.NewMembers(s, clock{}).Search(ctx, acme, q)
			}
		}
		for name, read := range map[string]func(context.Context, users.Cursor) (users.Found, error){
			"List": func(ctx context.Context, after users.Cursor) (users.Found, error) {
				return use.List(ctx, acme, app.Page{After: after.ID, Limit: 250})
			},
			"Search":      search(users.Query{Active: true}),
			"Sorted":      search(users.Query{Sort: users.ByUsername}),
			"SortedSmall": search(users.Query{Sort: users.ByUsername, Active: true}),
		} {
			found := map[users.MemberID]bool{}
			var after users.Cursor
			for more := true; more; {
				b, err := read(t.Context(), after)
				require.NoError(t, err, name)
				assert.LessOrEqual(t, len(b.Members), most, name)
				for _, m := range b.Members {
					assert.False(t, found[m.ID], name)
					found[m.ID] = true
				}
				after, more = b.Next, b.More
			}
			assert.Len(t, found, people, name)
		}
	})
}
