package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// entries are those of an organization (0: of the installation), older than before.
func (w *world) entries(t *testing.T, org orgs.ID, before audit.ID, limit int) []audit.Entry {
	t.Helper()
	return look(t, w, func(tx ports.Tx) ([]audit.Entry, error) { return tx.Audit().List(t.Context(), org, before, limit) })
}

func auditCases() cases {
	entry := func(org orgs.ID, object string) audit.Entry {
		return audit.Entry{Organization: org, Actor: audit.Actor{Name: "Ñ", Address: "2001:db8::/64", Via: audit.Console}, At: noon.Add(7 * time.Microsecond),
			Action: audit.MemberLocked, Object: object, Before: audit.State{"locked": false}, After: audit.State{"locked": true, "note": `"<é>"`}}
	}
	return cases{
		"EntriesAreKeptAsGivenTheNewestFirst": func(t *testing.T, w *world) {
			var want []audit.Entry
			for i := range 5 {
				e := entry(w.mine.org.ID, strings.Repeat("x", i+1))
				if i == 0 {
					e.Before, e.After = nil, nil
				}
				act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), e) })
				want = append(want, e)
			}
			slices.Reverse(want)
			found := w.entries(t, w.mine.org.ID, 0, 100)
			for i := range found {
				assert.Positive(t, found[i].ID)
				want[i].ID = found[i].ID
			}
			assert.Equal(t, want, found)
			assert.Equal(t, want[:2], w.entries(t, w.mine.org.ID, 0, 2))
			assert.Equal(t, want[2:4], w.entries(t, w.mine.org.ID, want[1].ID, 2))
			assert.Empty(t, w.entries(t, w.mine.org.ID, want[4].ID, 2))
		},
		"EachOrganizationAndTheInstallationHaveTheirOwn": func(t *testing.T, w *world) {
			for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
				act(t, w, func(tx ports.Tx) error { return tx.Audit().Record(t.Context(), entry(org, "object")) })
			}
			for _, org := range []orgs.ID{w.mine.org.ID, w.theirs.org.ID, 0} {
				found := w.entries(t, org, 0, 100)
				if assert.Len(t, found, 1) {
					assert.Equal(t, org, found[0].Organization)
				}
			}
		},
		"AnEntryGoesWithItsUnit": func(t *testing.T, w *world) {
			refused(t, w, errStop, func(tx ports.Tx) error {
				if err := tx.Audit().Record(t.Context(), entry(w.mine.org.ID, "object")); err != nil {
					return err
				}
				return errStop
			})
			assert.Empty(t, w.entries(t, w.mine.org.ID, 0, 100))
		},
	}
}
