package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// entries returns all entries that a search finds, from all batches.
func (w *world) entries(t *testing.T, q audit.Query) (all []audit.Entry) {
	t.Helper()
	for {
		found := look(t, w, func(tx ports.Tx) (audit.Found, error) { return tx.Audit().Search(t.Context(), q) })
		assert.LessOrEqual(t, len(found.Entries), q.Limit)
		all = append(all, found.Entries...)
		if !found.More {
			return all
		}
		assert.Equal(t, found.Next, audit.ParseCursor(found.Next.String()))
		q.After = found.Next
	}
}

func auditCases() cases {
	entry := func(org orgs.ID, object string) audit.Entry {
		return audit.Entry{Organization: org, Actor: audit.Actor{Name: "Ñ", Address: "2001:db8::/64", Via: audit.Console}, At: noon.Add(7 * time.Microsecond),
			Action: audit.MemberLocked, Object: object, Before: audit.State{"locked": false}, After: audit.State{"locked": true, "note": `"<é>"`}}
	}
	return cases{
		"NewestFirst": func(t *testing.T, w *world) {
			var want []audit.Entry
			for i := range 5 {
				e := entry(w.mine.org.ID, strings.Repeat("x", i+1))
				e.Actor.Key = access.ID(i)
				if i == 0 {
					e.Before, e.After = nil, nil
				}
				act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
				want = append(want, e)
			}
			slices.Reverse(want)
			found := w.entries(t, audit.Query{Organization: w.mine.org.ID, Limit: 100})
			for i := range found {
				assert.Positive(t, found[i].ID)
				want[i].ID = found[i].ID
			}
			assert.Equal(t, want, found)
			for limit := 1; limit <= 6; limit++ {
				assert.Equal(t, want, w.entries(t, audit.Query{Organization: w.mine.org.ID, Limit: limit}))
			}
		},
		"ContinueAfterAnEntryID": func(t *testing.T, w *world) {
			for _, object := range []string{"a", "b", "c"} {
				for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
					e := entry(org, object)
					e.At = noon.Add(-time.Duration(object[0]) * time.Hour) // The order is that of time.
					act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
				}
			}
			for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
				all := w.entries(t, audit.Query{Organization: org, Limit: 10})
				assert.Equal(t, []string{"a", "b", "c"}, objects(all))
				for i, e := range all {
					for _, other := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
						found := look(t, w, func(tx ports.Tx) (audit.Found, error) {
							return tx.Audit().Search(t.Context(), audit.Query{Organization: other, Since: e.ID, Limit: 10})
						})
						if other == org {
							assert.Equal(t, objects(all[i+1:]), objects(found.Entries))
						} else {
							assert.Empty(t, found.Entries, "of another log, and so nothing is behind it")
						}
					}
				}
			}
			gone := look(t, w, func(tx ports.Tx) (audit.Found, error) {
				return tx.Audit().Search(t.Context(), audit.Query{Organization: w.mine.org.ID, Since: 987654321, Limit: 10})
			})
			assert.Equal(t, audit.Found{}, gone)
		},
		"OneEntryOfItsLog": func(t *testing.T, w *world) {
			for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
				act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), entry(org, "a")) })
			}
			for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
				want := w.entries(t, audit.Query{Organization: org, Limit: 10})[0]
				for _, other := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
					err := w.View(t.Context(), func(tx ports.Tx) error {
						got, err := tx.Audit().Entry(t.Context(), other, want.ID)
						if other == org {
							assert.Equal(t, want, got)
						}
						return err
					})
					if other == org {
						assert.NoError(t, err)
					} else {
						assert.ErrorIs(t, err, audit.ErrNotFound)
					}
				}
			}
		},
		"EntriesAboutPeopleFromAPlaceOn": func(t *testing.T, w *world) {
			const ada, member = "acme/u/ada", "acme/p/shop/a/web/u/ada"
			for i, object := range []string{ada, "acme/u/adam", member, "acme/e/ada", ada} {
				for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID} {
					e := entry(org, object)
					e.At, e.Actor.Key = noon.Add(time.Duration(i)*time.Minute), access.ID(i+1)
					act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
				}
			}
			keys := func(q audit.About) (ids []access.ID) {
				q.Organization = w.mine.org.ID
				for _, e := range look(t, w, func(tx ports.Tx) ([]audit.Entry, error) { return tx.Audit().About(t.Context(), q) }) {
					assert.Equal(t, w.mine.org.ID, e.Organization)
					ids = append(ids, e.Actor.Key)
				}
				return ids
			}
			both := audit.About{Objects: []string{ada, member, ada}, Limit: 10}
			assert.Equal(t, []access.ID{5, 3, 1}, keys(both))
			assert.Equal(t, []access.ID{3}, keys(audit.About{Objects: []string{member}, Limit: 10}))
			assert.Empty(t, keys(audit.About{Limit: 10}))
			few := both
			few.Limit = 2
			assert.Equal(t, []access.ID{5, 3}, keys(few))
			found := w.entries(t, audit.Query{Organization: w.mine.org.ID, Object: member, Limit: 1})
			both.From = audit.Cursor{At: found[0].At, ID: found[0].ID}
			assert.Equal(t, []access.ID{1}, keys(both), "behind it")
			both.Newer = true
			assert.Equal(t, []access.ID{3, 5}, keys(both), "from it on")
		},
		"SeveralAreKeptInTheirOrder": func(t *testing.T, w *world) {
			act(t, w, func(tx ports.Tx) error {
				return tx.Audit().Record(t.Context(), entry(w.mine.org.ID, "a"), entry(w.theirs.org.ID, "b"), entry(0, "c"), entry(w.mine.org.ID, "d"))
			})
			assert.Equal(t, []string{"d", "a"}, objects(w.entries(t, audit.Query{Organization: w.mine.org.ID, Limit: 10})))
			act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context()) })
		},
		"WithoutATimeItIsNow": func(t *testing.T, w *world) {
			e := entry(w.mine.org.ID, "now")
			e.At = time.Time{}
			act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
			assert.WithinDuration(t, time.Now(), w.entries(t, audit.Query{Organization: w.mine.org.ID, Limit: 1})[0].At, time.Hour)
		},
		"LongStatesAreCut": func(t *testing.T, w *world) {
			e := entry(w.mine.org.ID, "long")
			e.After = audit.State{"kept": "whole", "fields": strings.Repeat("é", 64<<10)}
			act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
			after := w.entries(t, audit.Query{Organization: w.mine.org.ID, Limit: 1})[0].After
			assert.Equal(t, "whole", after["kept"])
			assert.Contains(t, after["fields"], "(131074 bytes, cut)")
		},
		"SeparateLogs": func(t *testing.T, w *world) {
			for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
				act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), entry(org, "object")) })
			}
			for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
				found := w.entries(t, audit.Query{Organization: org, Limit: 100})
				if assert.Len(t, found, 1) {
					assert.Equal(t, org, found[0].Organization)
				}
			}
		},
		"EntryIsRolledBackWithItsUnit": func(t *testing.T, w *world) {
			refused(t, w, errStop, func(tx ports.Tx) error {
				if err := tx.Audit().Record(t.Context(), entry(w.mine.org.ID, "object")); err != nil {
					return err
				}
				return errStop
			})
			assert.Empty(t, w.entries(t, audit.Query{Organization: w.mine.org.ID, Limit: 100}))
		},
		"AFilterSelects": func(t *testing.T, w *world) {
			for i, e := range []audit.Entry{
				{Actor: audit.Actor{Name: "ada", Via: audit.Console}, Action: audit.MemberLocked, Object: "acme/u/50%"},
				{Actor: audit.Actor{Name: "sync", Via: audit.API}, Action: audit.MemberCreated, Object: "acme/u/5000"},
				{Actor: audit.Actor{Name: "Ada", Via: audit.CommandLine}, Action: audit.MemberLocked, Object: "acme/p/é/d/news"},
			} {
				e.Organization, e.At = w.mine.org.ID, noon.Add(time.Duration(i)*time.Hour)
				act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
			}
			for name, c := range map[string]struct {
				q    audit.Query
				want []string
			}{
				"Actor":          {audit.Query{Actor: "ada"}, []string{"acme/u/50%"}},
				"Via":            {audit.Query{Via: audit.CommandLine}, []string{"acme/p/é/d/news"}},
				"ViaTheAPI":      {audit.Query{Via: audit.API}, []string{"acme/u/5000"}},
				"Action":         {audit.Query{Action: audit.MemberLocked}, []string{"acme/p/é/d/news", "acme/u/50%"}},
				"ActionByPrefix": {audit.Query{Action: "member.c"}, []string{"acme/u/5000"}},
				"ObjectAsText":   {audit.Query{Object: "acme/u/50%"}, []string{"acme/u/50%"}},
				"ObjectByPrefix": {audit.Query{Object: "acme/p/é"}, []string{"acme/p/é/d/news"}},
				"From":           {audit.Query{From: noon.Add(time.Hour)}, []string{"acme/p/é/d/news", "acme/u/5000"}},
				"Until":          {audit.Query{Until: noon.Add(time.Hour)}, []string{"acme/u/50%"}},
				"All":            {audit.Query{Actor: "ada", Via: audit.Console, Action: audit.MemberLocked, Object: "acme", From: noon, Until: noon.Add(time.Microsecond)}, []string{"acme/u/50%"}},
				"None":           {audit.Query{Actor: "ada", Via: audit.API}, nil},
			} {
				for limit := 1; limit <= 3; limit++ {
					c.q.Organization, c.q.Limit = w.mine.org.ID, limit
					assert.Equal(t, c.want, objects(w.entries(t, c.q)), "%s %d", name, limit)
				}
			}
		},
		"WordsAreFoundAsTheyAreShown": func(t *testing.T, w *world) {
			e := entry(w.mine.org.ID, "acme/g/1")
			e.After = audit.State{"name": `Über R&D <x> "quoted" a\b ENDE`}
			act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
			for _, word := range []string{"Über", "R&D", "r&d", "<x>", `"quoted"`, `a\b`, "ende"} {
				assert.Len(t, w.entries(t, audit.Query{Organization: w.mine.org.ID, Text: word, Limit: 10}), 1, word)
			}
			assert.Empty(t, w.entries(t, audit.Query{Organization: w.mine.org.ID, Text: "R&E", Limit: 10}))
		},
		"FewAmongVeryManyAreFoundInBatches": func(t *testing.T, w *world) {
			const many = 21_000
			crowd := []audit.Entry{entry(w.mine.org.ID, "few")}
			for range many {
				e := entry(w.mine.org.ID, "crowd")
				e.Actor.Via = audit.API
				crowd = append(crowd, e)
			}
			act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), crowd...) })
			q := audit.Query{Organization: w.mine.org.ID, Object: "few", Limit: 10}
			first := look(t, w, func(tx ports.Tx) (audit.Found, error) { return tx.Audit().Search(t.Context(), q) })
			assert.Empty(t, first.Entries)
			assert.True(t, first.More, "it stops before it has read everything, and says so")
			assert.Equal(t, []string{"few"}, objects(w.entries(t, q)))
			q.Via = audit.Console
			first = look(t, w, func(tx ports.Tx) (audit.Found, error) { return tx.Audit().Search(t.Context(), q) })
			assert.Len(t, first.Entries, 1, "what is not the API's is found at once")
			assert.False(t, first.More)
		},
	}
}

func objects(es []audit.Entry) (all []string) {
	for _, e := range es {
		all = append(all, e.Object)
	}
	return all
}
