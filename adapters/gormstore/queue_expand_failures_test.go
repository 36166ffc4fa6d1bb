package gormstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/test/databases"
)

// TestExpansionOfOthersAfterAFailure is about an occurrence whose deliveries the database refuses,
// as it does beyond the last partition: all others are expanded.
func TestExpansionOfOthersAfterAFailure(t *testing.T) {
	t.Parallel()
	const people, many = 5, deliveries.CountedEntries + 1
	for name, again := range map[string]struct {
		limitTo []string
		limit   int
		reached int
		part    deliveries.ExpansionPart
	}{
		"in pages":               {nil, pageOfFew, people, deliveries.AllOccurrences},
		"in a set":               {nil, 10 * people, people, deliveries.AllOccurrences},
		"in a set of singles":    {[]string{"ada@example.org"}, 10 * people, 1, deliveries.AllOccurrences},
		"in pages of large ones": {nil, many - 1, many, deliveries.LargeOccurrences},
		"in a set of small ones": {[]string{"ada@example.org"}, 10 * people, 1, deliveries.SmallOccurrences},
	} {
		for database, url := range map[string]func(testing.TB) string{"sqlite": databases.SQLite, "postgres": databases.Postgres} {
			t.Run(name+"/"+database, func(t *testing.T) {
				t.Parallel()
				h := newHousehold(t, open(t, url(t)), max(people, again.reached))
				var all []events.OccurrenceID
				for range 4 {
					all = append(all, h.trigger(t, again.limitTo, nil).ID)
				}
				accept := h.refuse(t, database, all[1])
				failures := 0
				for n := 0; fmt.Sprint(lines(t, h.Handle(), 0, "SELECT COUNT(*) FROM occurrences WHERE expanded_at IS NULL")) != "[1]"; n++ {
					require.Less(t, n, 30, "the others are not expanded")
					if _, err := h.Queue().Expand(t.Context(), again.part, again.limit); err != nil {
						require.ErrorContains(t, err, "refused")
						failures++
					}
				}
				assert.Positive(t, failures)
				_, err := h.Queue().Expand(t.Context(), again.part, again.limit)
				require.ErrorContains(t, err, "refused", "it is tried again, because nothing else waits")
				require.ErrorContains(t, err, fmt.Sprintf("occurrence %d: ", all[1]))
				accept()
				h.expandAll(t)
				for _, id := range all {
					assert.Equal(t, []string{fmt.Sprint(again.reached)}, lines(t, h.Handle(), 0, fmt.Sprintf("SELECT COUNT(*) FROM deliveries WHERE occurrence_id = %d", id)))
				}
			})
		}
	}
}

// refuse makes the database refuse deliveries of an occurrence until the returned function is
// called.
func (h *household) refuse(t *testing.T, database string, o events.OccurrenceID) (accept func()) {
	t.Helper()
	if database == "sqlite" {
		exec(t, h.Store, fmt.Sprintf("CREATE TRIGGER refusal BEFORE INSERT ON deliveries WHEN NEW.occurrence_id = %d BEGIN SELECT RAISE(ABORT, 'refused'); END", o))
		return func() { exec(t, h.Store, "DROP TRIGGER refusal") }
	}
	exec(t, h.Store, `CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`)
	exec(t, h.Store, fmt.Sprintf("CREATE TRIGGER refusal BEFORE INSERT ON deliveries_first FOR EACH ROW WHEN (NEW.occurrence_id = %d) EXECUTE FUNCTION refuse()", o))
	return func() { exec(t, h.Store, "DROP TRIGGER refusal ON deliveries_first") }
}
