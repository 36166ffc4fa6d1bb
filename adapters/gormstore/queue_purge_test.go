package gormstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// aging are organizations whose rows have greater ids the later the organization was created, as
// after moves. The first "organization" is the installation, which has no mailbox.
type aging struct {
	*gormstore.Store
	orgs []orgs.ID
}

const agingRows = 10 // of an organization and table

func newAging(t *testing.T, s *gormstore.Store, organizations int) aging {
	t.Helper()
	a := aging{s, []orgs.ID{0}}
	ctx := t.Context()
	require.NoError(t, s.Update(ctx, func(tx ports.Tx) error {
		for n := range organizations {
			org, err := tx.Orgs().Create(ctx, orgs.Organization{Slug: fmt.Sprintf("org%d", n), Name: "Org"})
			require.NoError(t, err)
			c, err := tx.Channels().Create(ctx, channels.Channel{Organization: org.ID, Name: "Box", Protocol: channels.EMAIL, Driver: "mailbox", Active: true})
			require.NoError(t, err)
			for row := range agingRows {
				_, err := tx.Mailbox().Keep(ctx, org.ID, c.ID, deliveries.Message{ID: strconv.Itoa(row), To: "ada@example.org"})
				require.NoError(t, err)
			}
			a.orgs = append(a.orgs, org.ID)
		}
		for _, org := range append(a.orgs[1:len(a.orgs):len(a.orgs)], 0) {
			for range agingRows {
				entry := audit.Entry{Organization: org, At: clock{}.Now(), Action: audit.LogExported, Object: "a"}
				require.NoError(t, tx.Audit().Record(ctx, entry))
			}
		}
		return nil
	}))
	return a
}

func (aging) of(org orgs.ID) string {
	if org == 0 {
		return "organization_id IS NULL"
	}
	return fmt.Sprintf("organization_id = %d", org)
}

// age makes the first rows of an organization old.
func (a aging) age(t *testing.T, table string, org orgs.ID, n int) {
	t.Helper()
	execute(t, a.Store, "UPDATE "+table+" SET created_at = $1 WHERE id IN (SELECT id FROM "+table+" WHERE "+a.of(org)+" ORDER BY id LIMIT $2)",
		clock{}.Now().Add(-2*time.Hour), n)
}

func (a aging) left(t *testing.T, table string, org orgs.ID) (n int) {
	t.Helper()
	require.NoError(t, a.Handle().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE "+a.of(org)).Scan(&n))
	return n
}

// purge removes pages of what is older than an hour until nothing has changed in a whole round.
func (a aging) purge(t *testing.T, page int) (gone int) {
	t.Helper()
	before := clock{}.Now().Add(-time.Hour)
	for idle := 0; idle < 3; {
		n, err := a.Queue().Purge(t.Context(), deliveries.Expiry{Entries: before, Occurrences: before}, page)
		require.NoError(t, err)
		if gone += n; n > 0 {
			idle = 0
		} else {
			idle++
		}
	}
	return gone
}

// TestPurgeBehindYoungRows is about old rows with greater ids than young ones of another
// organization: all of them are found, wherever they are, and again in later rounds.
func TestPurgeBehindYoungRows(t *testing.T) {
	t.Parallel()
	const page = 3
	onEach(t, func(t *testing.T, url string) {
		a := newAging(t, open(t, url), 30) // more than are purged at once
		last := a.orgs[len(a.orgs)-1]
		for _, table := range []string{"audit_entries", "mailbox_messages"} {
			a.age(t, table, last, agingRows-1)
			assert.Equal(t, agingRows-1, a.purge(t, page), table)
			assert.Equal(t, 1, a.left(t, table, last), table)
			for _, org := range a.orgs[2:] {
				a.age(t, table, org, 1)
			}
			assert.Equal(t, len(a.orgs)-2, a.purge(t, 50), table)
			assert.Equal(t, agingRows, a.left(t, table, a.orgs[1]), table)
			assert.Zero(t, a.left(t, table, last), table)
		}
		a.age(t, "audit_entries", 0, 2*page)
		assert.Equal(t, 2*page, a.purge(t, page), "of the installation")
		assert.Equal(t, agingRows-2*page, a.left(t, "audit_entries", 0))
	})
}

// TestPurgeBehindPlans checks that a look for old rows reads the first ones of each organization
// along an index, in its order, and nothing else.
func TestPurgeBehindPlans(t *testing.T) {
	t.Parallel()
	indexes := map[string]string{"audit_entries": "audit_entries_time", "mailbox_messages": "mailbox_messages_size"}
	onEach(t, func(t *testing.T, url string) {
		a := newAging(t, open(t, url), 3)
		for table := range indexes {
			a.age(t, table, a.orgs[3], 6)
		}
		a.age(t, "audit_entries", 0, 1)
		heard := map[string]bool{}
		a.Overhear(func(statement string) { heard[statement] = true })
		assert.Equal(t, 2*6+1, a.purge(t, 5))
		a.Overhear(func(string) {})
		explain, column, conn := "EXPLAIN QUERY PLAN ", 3, planning(t, a.Store)
		if a.OnPostgres() {
			explain, column = "EXPLAIN (COSTS OFF) ", 0
		}
		looked := map[string]int{}
		for statement := range heard {
			table := "organizations"
			for name := range indexes {
				if strings.Contains(statement, name) {
					table = name
				}
			}
			if !strings.Contains(statement, table) {
				continue // about something else that is old
			}
			plan := strings.Join(lines(t, conn, column, explain+statement), "\n")
			for _, reads := range []string{"SCAN audit_entries", "SCAN mailbox_messages", "SCAN o", "Seq Scan", "TEMP B-TREE"} {
				assert.NotContains(t, plan, reads, statement)
			}
			if strings.Contains(statement, "ORDER BY organization_id") {
				looked[table]++
				assert.Contains(t, plan, indexes[table], statement)
				assert.NotRegexp(t, "Sort Key:.*organization_id", plan, statement)
			}
		}
		assert.Greater(t, looked["audit_entries"], 2, "of organizations and of the installation")
		assert.Greater(t, looked["mailbox_messages"], 1)
	})
}
