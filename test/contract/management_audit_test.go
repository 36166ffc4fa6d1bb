package contract_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
)

const auditPath = "/api/o/acme/audit/"

// managedEntry is an entry of the audit log, as the API shows it.
type managedEntry struct {
	ID      int64  `json:"id"`
	Created string `json:"created"`
	Actor   string `json:"actor"`
	Key     *int64 `json:"key"`
	Via     string `json:"via"`
	Address string `json:"address"`
	Action  string `json:"action"`
	Object  string `json:"object"`
	Before  object `json:"before"`
	After   object `json:"after"`
}

func TestManagedAuditLog(t *testing.T) {
	t.Parallel()

	t.Run("ShowsTheNewestFirst", both(func(w *world) {
		w.enroll("anna@example.org")
		w.clock.Advance(time.Minute)
		later := w.clock.Now()
		changing := w.manager()
		changing.patch(membersPath+"anna@example.org/", object{"locked": true}).is(http.StatusOK)
		w.post("/api/v1/user/globex/", object{"email": "eve@example.org"})
		m := w.as(w.issue(scope("acme"), access.AuditRead))
		of := func(query string) (said []string) {
			for _, e := range read[[]managedEntry](m.get(auditPath + "?" + query).is(http.StatusOK)) {
				said = append(said, e.Action+" "+e.Object)
			}
			return said
		}
		const created, locked = "member.create acme/u/anna@example.org", "member.lock acme/u/anna@example.org"
		assert.Equal(w, []string{locked, created}, of("action_begins=member."))
		assert.Equal(w, []string{locked}, of("action_begins=member.lock&via=API"))
		assert.Equal(w, []string{locked, created}, of("object_begins=acme%2Fu%2Fanna"))
		assert.Equal(w, []string{created}, of("action_begins=member.&created_before="+url.QueryEscape(later.Format(time.RFC3339))))
		assert.Equal(w, []string{locked}, of("action_begins=member.&created_after="+url.QueryEscape(later.Format(time.RFC3339))))
		assert.Empty(w, of("action_begins=member.&via=console"))
		assert.NotContains(w, strings.Join(of(""), " "), "globex")
		assert.Equal(w, map[string][]string{"via": {"must be one of console, command line, API, unsubscribe link"}}, m.get(auditPath+"?via=fax").errors())

		e := read[[]managedEntry](m.get(auditPath + "?action_begins=member.lock").is(http.StatusOK))[0]
		assert.Equal(w, []object{{"locked": false}, {"locked": true}}, []object{e.Before, e.After})
		assert.Equal(w, []string{"API", later.UTC().Format(time.RFC3339Nano)}, []string{e.Via, e.Created})
		require.NotNil(w, e.Key)
		assert.Equal(w, []string{locked}, of("action_begins=member.&actor="+url.QueryEscape(e.Actor)))
	}))

	t.Run("ContinuesAfterThePage", both(func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.enroll(name + "@example.org")
		}
		m := w.as(w.issue(scope("acme"), access.AuditRead))
		var said []string
		for next := auditPath + "?action_begins=member.&limit=1"; next != ""; {
			a := m.get(next).is(http.StatusOK)
			for _, e := range read[[]managedEntry](a) {
				said = append(said, e.Object)
			}
			next = nextPage(w, a)
		}
		assert.Equal(w, []string{"acme/u/c@example.org", "acme/u/b@example.org", "acme/u/a@example.org"}, said)
	}))

	t.Run("NeedsOnlyItsGrantToRead", both(func(w *world) {
		others := slices.DeleteFunc(access.Grants(), func(g access.Grant) bool { return g == access.AuditRead })
		w.as(w.issue(scope("acme"), others...)).get(auditPath).is(http.StatusForbidden)
		w.as(w.issue(scope("acme/shop"), access.AuditRead)).get(auditPath).is(http.StatusForbidden)
		m := w.manager()
		w.unchanged(func() {
			m.get("/api/o/globex/audit/").is(http.StatusForbidden)
			m.get(auditPath + "?via=letter").isBadRequestFor("via")
			m.get(auditPath).is(http.StatusOK)
		})
	}))
}

func TestManagedDeliveries(t *testing.T) {
	t.Parallel()

	t.Run("FailedOnesAreSentAgain", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		box := &outbox{}
		box.answers(refusing("ben@example.org", "550 no such mailbox", false))
		w.workInto(box)
		id := w.happens(object{})
		require.Equal(w, []string{"anna@example.org by shop-mail: sent", "ben@example.org by shop-mail: failed"}, w.deliveryStates(id))
		box.answers(nil)
		m := w.as(w.issue(scope("acme/shop/web"), access.DeliveryWrite))
		since := w.lastEntry()
		assert.Equal(w, object{"occurrence": float64(id), "retried": 1.0}, read[object](m.post(occurrencePath(id)+"retry/", nil).is(http.StatusOK)))
		said, _ := w.recorded(since)
		assert.Equal(w, "deliveries.retry "+strings.TrimPrefix(strings.TrimSuffix(occurrencePath(id), "/"), "/api/o/"), said[len(said)-1])
		w.eventually(occurrencePath(id), func(o occurrence) bool { return o.Counts["sent"] == 2 })
		assert.Zero(w, read[object](m.post(occurrencePath(id)+"retry/", nil).is(http.StatusOK))["retried"])
	}))

	t.Run("NotForEndedOrForeignOnes", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := w.trigger(object{})
		path := occurrencePath(id) + "retry/"
		w.cancel(id)
		others := slices.DeleteFunc(access.Grants(), func(g access.Grant) bool { return g == access.DeliveryWrite })
		m, mayNot, elsewhere := w.manager(), w.as(w.issue(scope("acme/shop/web"), others...)), w.as(w.issue(scope("acme/shop/office"), access.DeliveryWrite))
		w.unchanged(func() {
			assert.Equal(w, "occurrence_over", read[problem](m.post(path, nil)).Code)
			mayNot.post(path, nil).is(http.StatusForbidden)
			elsewhere.post(path, nil).is(http.StatusForbidden)
			m.post(idPath(officePath+"occurrences/", id)+"retry/", nil).is(http.StatusNotFound)
			m.post(webPath+"occurrences/987654321/retry/", nil).is(http.StatusNotFound)
		})
	}))
}
