package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// cancelled is the answer of cancel.
type cancelled struct {
	Occurrence int64      `json:"occurrence"`
	Cancelled  *time.Time `json:"cancelled"`
}

// cancel cancels an occurrence of acme/shop/web.
func (c client) cancel(id int64) cancelled {
	c.t.Helper()
	return read[cancelled](c.post(occurrencePath(id)+"cancel/", nil).is(http.StatusOK))
}

func TestCancel(t *testing.T) {
	t.Parallel()

	t.Run("BeforeItBeginsNothingIsSent", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := w.trigger(object{"options": object{"send_at": w.clock.Now().Add(time.Hour).Format(time.RFC3339)}})
		since, now := w.lastEntry(), w.clock.Now()
		require.Equal(w, cancelled{id, &now}, w.cancel(id))
		said, _ := w.recorded(since)
		require.Equal(w, []string{"occurrence.cancel " + strings.TrimPrefix(strings.TrimSuffix(occurrencePath(id), "/"), "/api/o/")}, said)
		w.clock.Advance(2 * time.Hour)
		w.unchanged(func() { require.Equal(w, cancelled{id, &now}, w.cancel(id), "again it is the same") })
		box := w.work()
		w.happens(object{})
		require.Len(w, box.all(), 1, "of the other one")
		o := w.occurrence(id)
		require.Equal(w, "cancelled", o.State)
		require.Equal(w, now, *o.Cancelled)
		require.Empty(w, w.deliveries(id))
		require.Equal(w, "No delivery was made: the occurrence was cancelled.", w.explain(id, "anna").Summary)
	}))

	t.Run("SentStaysCountedDuringCancel", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		box := &outbox{}
		box.answers(refusing("ben@example.org", "451 later", true))
		w.workInto(box)
		id := w.trigger(object{})
		w.eventually(occurrencePath(id), func(o occurrence) bool { return o.Counts["sent"] == 1 && o.Counts["retrying"] == 1 })
		w.cancel(id)
		w.eventually(occurrencePath(id), func(o occurrence) bool { return o.Counts["skipped"] == 1 })
		require.Equal(w, []string{"anna@example.org by shop-mail: sent", "ben@example.org by shop-mail: skipped, cancelled"}, w.deliveryStates(id))
		require.Equal(w, 1, w.occurrence(id).Counts["sent"])
		require.Equal(w, "The message to ben@example.org by shop-mail was skipped: cancelled.", w.explain(id, "ben").Summary)
	}))

	t.Run("EndedStaysAsItIs", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		w.work()
		id := w.happens(object{})
		w.unchanged(func() { require.Equal(w, cancelled{Occurrence: id}, w.cancel(id)) })
		require.Equal(w, "done", w.occurrence(id).State)
	}))

	t.Run("ItTakesTheGrantToTrigger", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := w.trigger(object{})
		path := occurrencePath(id) + "cancel/"
		reader, elsewhere := w.as(w.issue(scope("acme/shop/web"), access.DeliveryRead)), w.as(w.issue(scope("acme/shop/office"), access.EventTrigger))
		w.unchanged(func() {
			reader.post(path, nil).is(http.StatusForbidden)
			elsewhere.post(path, nil).is(http.StatusForbidden)
			for _, other := range []string{officePath, strings.ReplaceAll(webPath, "acme", "globex"), strings.ReplaceAll(webPath, "shop", "blog")} {
				w.post(idPath(other+"occurrences/", id)+"cancel/", nil).is(http.StatusNotFound)
			}
			w.post(webPath+"occurrences/987654321/cancel/", nil).is(http.StatusNotFound)
		})
		w.as(w.issue(scope("acme/shop/web"), access.EventTrigger)).post(path, nil).is(http.StatusOK)
		require.Equal(w, "cancelled", w.occurrence(id).State)
	}))

	t.Run("AnIdempotentTriggerIsAnsweredNevertheless", both(func(w *world) {
		w.apply(orders())
		again := w.with("Idempotency-Key", "a")
		id := again.trigger(object{})
		w.cancel(id)
		w.unchanged(func() { require.Equal(w, id, again.trigger(object{})) })
		require.Equal(w, string(deliveries.Cancelled), w.occurrence(id).State)
	}))
}
