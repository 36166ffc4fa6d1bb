package gormstore_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// largeOrganization creates an organization with very many members, few of whom match a condition.
const largeOrganization = `
	INSERT INTO projects (id, organization_id, slug, name, created_at) VALUES (1, 2, 'p', 'P', CURRENT_TIMESTAMP);
	INSERT INTO applications (id, organization_id, project_id, slug, name, active, created_at) VALUES (1, 2, 1, 'all', 'All', TRUE, CURRENT_TIMESTAMP), (2, 2, 1, 'few', 'Few', TRUE, CURRENT_TIMESTAMP);
	INSERT INTO distribution_lists (id, organization_id, project_id, name, name_fold, created_at) VALUES (1, 2, 1, 'all', 'all', CURRENT_TIMESTAMP), (2, 2, 1, 'few', 'few', CURRENT_TIMESTAMP);
	INSERT INTO channels (id, organization_id, name, name_fold, protocol, driver, settings, preferred, active, created_at) VALUES (1, 2, 'm', 'm', 'EMAIL', 'smtp', '{}', TRUE, TRUE, CURRENT_TIMESTAMP);
	INSERT INTO member_groups (id, organization_id, name, name_fold) VALUES (100, 2, 'few', 'few');
	INSERT INTO assignments (organization_id, address_id, channel_id, active, validated) SELECT 2, id, 1, TRUE, TRUE FROM addresses;
	INSERT INTO list_entries (list_id, assignment_id) SELECT 1, id FROM assignments;
	INSERT INTO list_entries (list_id, assignment_id) SELECT 2, id FROM assignments WHERE id % 10007 = 1;
	INSERT INTO application_memberships (application_id, member_id, custom_fields, active, enable_notifications) SELECT 1, id, '{}', TRUE, TRUE FROM members;
	INSERT INTO application_memberships (application_id, member_id, custom_fields, active, enable_notifications) SELECT 2, id, '{}', TRUE, TRUE FROM members WHERE id % 10007 = 2;
	INSERT INTO member_group_links (group_id, member_id) SELECT 100, id FROM members WHERE id % 10007 = 3;
	UPDATE members SET locked = TRUE WHERE id % 10007 = 4;
	UPDATE members SET role = 'operator' WHERE id % 10007 = 5;
	UPDATE members SET custom_fields = '{"plan":"rare"}' WHERE id % 999983 = 6;
	DELETE FROM assignments WHERE address_id IN (SELECT id FROM addresses WHERE member_id % 999983 = 7);
	DELETE FROM addresses WHERE member_id % 999983 = 7;`

// BenchmarkSearch reads batches of the results of queries in an organization of MEMBERS (1,000,000)
// and reports the slowest of a hundred: `-bench Search -benchtime 1x`.
func BenchmarkSearch(b *testing.B) {
	members := 1_000_000
	if wanted, err := strconv.Atoi(os.Getenv("MEMBERS")); err == nil {
		members = wanted
	}
	onBoth(b, func(b *testing.B, s *gormstore.Store) {
		newOrganization(b, s, "acme")
		const chunk = 2000
		for from := 0; from < members; from += chunk {
			var batch users.Batch
			for i := from; i < from+chunk; i++ {
				batch.Enrollments = append(batch.Enrollments, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("person%07d@example.org", i), FirstName: "First", LastName: "Last"},
					CustomFields: metadata.Map{"external_id": strconv.Itoa(i), "plan": "free"}})
			}
			require.NoError(b, enroll(b.Context(), s, "acme", batch))
		}
		indexAll(b, s)
		_, err := s.Handle().ExecContext(b.Context(), largeOrganization)
		require.NoError(b, err)
		for name, q := range queriesOfMany() {
			b.Run(name, func(b *testing.B) { batches(b, s, q) })
		}
		_, err = s.Handle().ExecContext(b.Context(), "ANALYZE")
		require.NoError(b, err)
		for name, q := range queriesOfMany() {
			b.Run("analyzed/"+name, func(b *testing.B) { batches(b, s, q) })
		}
	})
}

// indexAll runs the indexer until nothing is left.
func indexAll(t testing.TB, s *gormstore.Store) {
	t.Helper()
	for n := 1; n > 0; {
		require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) (err error) {
			n, _, err = tx.Users().Index(t.Context(), 0, 2_000)
			return err
		}))
	}
}

func queriesOfMany() map[string]users.Query {
	const all, few, defaultGroup, fewGroup = 1, 2, orgs.GroupID(1), orgs.GroupID(100)
	rare := metadata.Condition{Path: "plan", Text: "rare"}
	return map[string]users.Query{
		"everybody": {}, "text": {Text: "person0999"}, "wide_text": {Text: "p"}, "wide_texts": {Text: "first last"}, "rare_and_wide_text": {Text: "fir person099999"}, "locked": {Locked: true}, "role": {Role: users.RoleOperator}, "unreached": {WithoutAddress: true},
		"metadata": {Metadata: rare}, "metadata_of_many": {Metadata: metadata.Condition{Path: "plan", Text: "free"}}, "list_of_all": {List: all}, "list_of_few": {List: few},
		"application_of_all": {Application: all}, "application_of_few": {Application: few}, "group_of_all": {Group: defaultGroup}, "group_of_few": {Group: fewGroup},
		"list_of_all_and_group_of_few": {List: all, Group: fewGroup}, "all_and_metadata": {List: all, Application: all, Group: defaultGroup, Metadata: rare},
		"wide_text_and_few": {Text: "person", Application: few}, "wide_text_and_locked_metadata": {Text: "p", List: all, Metadata: rare, WithoutAddress: true},
	}
}

func batches(b *testing.B, s *gormstore.Store, q users.Query) {
	q.Limit = 50
	var took []time.Duration
	for b.Loop() {
		q.After = users.Cursor{}
		for range 100 {
			begun := time.Now()
			require.NoError(b, s.View(b.Context(), func(tx ports.Tx) error {
				found, err := tx.Users().Search(b.Context(), 2, q)
				q.After = found.Next
				if !found.More {
					q.After = users.Cursor{}
				}
				return err
			}))
			took = append(took, time.Since(begun))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
