package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// indexAll runs the indexer until nothing is left, and returns the number of rounds.
func (w *world) indexAll(t *testing.T) (rounds int) {
	t.Helper()
	waits := func(tx ports.Tx) (bool, error) {
		waits, _, err := tx.Users().Unindexed(t.Context())
		return waits, err
	}
	for ; look(t, w, waits); rounds++ {
		require.Less(t, rounds, 1_000, "the index is never finished")
		n := do(t, w, indexNext(t, 0))
		require.Positive(t, n)
	}
	assert.Zero(t, do(t, w, indexNext(t, 0)))
	return rounds
}

// indexing returns the progress of the index of the case's organization.
func (w *world) indexing(t *testing.T) users.Indexing {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (users.Indexing, error) { return tx.Users().Indexing(t.Context(), w.mine.org.ID) })
}

// known returns the people of the cases about words, by username.
func (w *world) known(t *testing.T) map[string]users.Member {
	t.Helper()
	all := map[string]users.Member{}
	for _, p := range []person{
		{Username: "anna", Email: "anna.mueller@example.org", FirstName: "Anna", LastName: "Müller"},
		{Username: "annabel", Email: "ab@example.net", FirstName: "Annabel", LastName: "Adler"},
		{Username: "hannah", Email: "hannah@example.net", FirstName: "Hannah", LastName: "MULLER-LÜDENSCHEID"},
		{Username: "joe", Email: "", FirstName: "Joé", LastName: "O’Brien"},
		{Username: "yamada", Email: "", FirstName: "太郎", LastName: "山田"},
	} {
		all[p.Username] = w.ensure(t, w.mine, p)
	}
	w.ensure(t, w.theirs, person{Username: "anna", Email: "anna.mueller@example.org", FirstName: "Anna", LastName: "Müller"})
	w.settle(t)
	return all
}

// indexNext indexes the next part of the next organization after one.
func indexNext(t *testing.T, after orgs.ID) func(tx ports.Tx) (int, error) {
	t.Helper()
	return func(tx ports.Tx) (int, error) {
		n, _, err := tx.Users().Index(t.Context(), after, 400)
		return n, err
	}
}

func wordCases() cases {
	return cases{
		"FindMembersWithAll": func(t *testing.T, w *world) {
			w.known(t)
			for text, want := range map[string][]string{
				"anna": {"anna", "annabel"}, "ANN": {"anna", "annabel"}, "müller": {"anna", "hannah"}, "Mueller": {"anna", "hannah"}, "muller": {"anna", "hannah"},
				"mue": {"anna", "hannah"}, "mu": {"anna", "hannah"}, "müller ann": {"anna"}, "ann mü": {"anna"}, "lüd": {"hannah"}, "muller-lud": {"hannah"},
				"nna": {}, "anna.mueller@example.org": {"anna"}, "mueller@exa": {"anna"}, "example.net": {"annabel", "hannah"}, "org": {}, "joe": {"joe"}, "jo obrien": {"joe"},
				"o'brien": {"joe"}, "山": {"yamada"}, "郎": {"yamada"}, "ａｎｎａ": {"anna", "annabel"}, "annabel muller": {}, "anna adler": {"annabel"}, "%": {}, "  ": {"ada@example.org", "bob@example.org", "anna", "annabel", "hannah", "joe", "yamada"},
				"+1 415 555 2671": {"ada@example.org"}, "(415) 555-2671": {"ada@example.org"}, "0014155552671": {"ada@example.org"}, "4155552671": {"ada@example.org"},
			} {
				for limit := 1; limit <= 8; limit++ {
					assert.Equal(t, want, w.hits(t, users.Query{Text: text, Limit: limit}.Trimmed()), "%q in batches of %d", text, limit)
				}
			}
		},
		"FollowEveryChange": func(t *testing.T, w *world) {
			anna := w.known(t)["anna"]
			finds := func(text string, want ...string) {
				t.Helper()
				assert.Equal(t, append([]string{}, want...), w.hits(t, users.Query{Text: text, Limit: 5}), text)
			}
			anna.LastName, anna.Email = "Schäfer", "a@example.com"
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveDetails(t.Context(), anna) })
			finds("schafer", "anna")
			finds("muller", "hannah")
			as := do(t, w, func(tx ports.Tx) ([]users.Address, error) {
				as, _, err := ensureAddresses(t.Context(), tx, w.mine.org.ID, anna.ID, []users.Address{{Value: "@annachat", Name: "chat", Type: users.Generic}})
				return as, err
			})
			finds("annach", "anna")
			act(t, w, func(tx ports.Tx) error { return tx.Addresses().Remove(t.Context(), w.mine.org.ID, anna.ID, as[0].ID) })
			finds("annach")
			anna.CustomFields = metadata.Map{"external_id": "K-4711", "team": "Night"}
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveFields(t.Context(), anna) })
			finds("k-4711", "anna")
			finds("4711", "anna")
			finds("night")
			act(t, w, func(tx ports.Tx) error { return tx.Users().Remove(t.Context(), anna) })
			finds("schafer")
			finds("4711")
		},
		"MetadataIsFoundWhenSearchable": func(t *testing.T, w *world) {
			anna := w.known(t)["anna"]
			anna.CustomFields = metadata.Map{"team": []any{"Night", "Dä"}, "place": map[string]any{"city": "Köln"}}
			act(t, w, func(tx ports.Tx) error { return tx.Users().SaveFields(t.Context(), anna) })
			set := func(paths ...string) {
				act(t, w, func(tx ports.Tx) error { return tx.Orgs().SetSearchable(t.Context(), w.mine.org.ID, paths) })
				stored := look(t, w, func(tx ports.Tx) (orgs.Organization, error) { return tx.Orgs().BySlug(t.Context(), w.mine.org.Slug) })
				assert.Equal(t, paths, stored.Searchable)
				assert.True(t, w.indexing(t).Building)
				assert.Positive(t, w.indexAll(t))
				assert.Equal(t, users.Indexing{}, w.indexing(t))
			}
			set("team", "place.city")
			assert.Equal(t, []string{"anna"}, w.hits(t, users.Query{Text: "night", Limit: 5}))
			assert.Equal(t, []string{"anna"}, w.hits(t, users.Query{Text: "koln da", Limit: 5}))
			set("place.city")
			assert.Empty(t, w.hits(t, users.Query{Text: "night", Limit: 5}))
			refused(t, w, orgs.ErrNotFound, func(tx ports.Tx) error { return tx.Orgs().SetSearchable(t.Context(), 1<<40, nil) })
		},
		"ManyAreIndexedLater": func(t *testing.T, w *world) {
			var many []users.Enrollment
			for i := range 450 {
				many = append(many, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("many%03d@example.org", i), FirstName: "Max"}})
			}
			_, err := w.enrolling(t.Context(), w.mine.org.Slug, users.Batch{Enrollments: many})
			require.NoError(t, err)
			assert.Equal(t, users.Indexing{Waiting: 450}, w.indexing(t))
			assert.Equal(t, 400, do(t, w, indexNext(t, w.mine.org.ID-1)), "a page at a time")
			assert.Equal(t, users.Indexing{Waiting: 50}, w.indexing(t))
			w.indexAll(t)
			assert.Equal(t, users.Indexing{}, w.indexing(t))
			assert.Len(t, w.hits(t, users.Query{Text: "max", Limit: 100}), 450)
			assert.Len(t, w.hits(t, users.Query{Text: "max man", Limit: 100}), 450)
		},
		"OrganizationsAreIndexedInTurn": func(t *testing.T, w *world) {
			third := do(t, w, func(tx ports.Tx) (orgs.Organization, error) {
				return tx.Orgs().Create(t.Context(), orgs.Organization{Slug: "third", Name: "Third"})
			})
			w.indexAll(t)
			for _, slug := range []string{w.mine.org.Slug, third.Slug} {
				for part := range 3 {
					var many []users.Enrollment
					for i := range 100 {
						many = append(many, users.Enrollment{Details: users.Details{Email: fmt.Sprintf("many%d-%02d@example.org", part, i)}})
					}
					_, err := w.enrolling(t.Context(), slug, users.Batch{Enrollments: many})
					require.NoError(t, err)
				}
			}
			var of []orgs.ID
			var last orgs.ID
			for range 7 {
				do(t, w, func(tx ports.Tx) (n int, err error) {
					n, last, err = tx.Users().Index(t.Context(), last, 100)
					return n, err
				})
				of = append(of, last)
			}
			assert.Equal(t, []orgs.ID{w.mine.org.ID, third.ID, w.mine.org.ID, third.ID, w.mine.org.ID, third.ID, 0}, of)
		},
		"OtherKindsHaveTheirOwn": func(t *testing.T, w *world) {
			correlated := func(o tenant, id string) events.OccurrenceID {
				wanted := o.occurrence(nil, nil)
				wanted.CorrelationID = id
				return w.trigger(t, wanted).ID
			}
			first, second, other := correlated(w.mine, "order-1"), correlated(w.mine, "order-1"), correlated(w.mine, "")
			theirs := correlated(w.theirs, "order-1")
			w.settle(t)
			find := func(text string, limit int) []events.OccurrenceID {
				found := []events.OccurrenceID{}
				for _, o := range look(t, w, func(tx ports.Tx) ([]events.Occurrence, error) {
					return tx.Deliveries().ByCorrelation(t.Context(), w.mine.org.ID, text, limit)
				}) {
					found = append(found, o.ID)
				}
				return found
			}
			assert.Equal(t, []events.OccurrenceID{second, first}, find("order-1", 10))
			assert.Equal(t, []events.OccurrenceID{second}, find("order-1", 1))
			assert.Equal(t, []events.OccurrenceID{other}, find(fmt.Sprint(other), 10))
			for _, nothing := range []string{"", "order", "ORDER-1", fmt.Sprint(theirs)} {
				assert.Empty(t, find(nothing, 10), nothing)
			}
			for limit, want := range map[int][]events.Event{10: {w.mine.order}, 0: {}} {
				assert.Equal(t, want, look(t, w, func(tx ports.Tx) ([]events.Event, error) {
					return tx.Events().OfOrganization(t.Context(), w.mine.org.ID, limit)
				}))
			}
		},
		"ContinueAfterTheLastFound": func(t *testing.T, w *world) {
			all := w.known(t)
			find := func(since users.MemberID, text string) (users.Found, error) {
				var found users.Found
				err := w.View(t.Context(), func(tx ports.Tx) (err error) {
					found, err = tx.Users().Search(t.Context(), w.mine.org.ID, users.Query{Text: text, Since: since, Limit: 1})
					return err
				})
				return found, err
			}
			found, err := find(all["anna"].ID, "muller")
			require.NoError(t, err)
			require.Len(t, found.Members, 1)
			assert.Equal(t, "hannah", found.Members[0].User.Username)
			for _, nobody := range []users.MemberID{all["annabel"].ID, w.theirs.ada.ID, 1 << 40} {
				_, err := find(nobody, "muller")
				require.ErrorIs(t, err, users.ErrSince)
			}
		},
	}
}
