package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSchedule(t *testing.T) {
	t.Parallel()

	t.Run("NotSentBeforeSendAt", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		since, at := w.lastEntry(), w.clock.Now().Add(time.Hour)
		id := w.trigger(object{"options": object{"send_at": at.In(time.FixedZone("", 3600)).Format(time.RFC3339), "expires_at": nil}})
		w.buyer("ben", "ben@example.org") // Recipients are those of then.
		box := w.work()
		require.Equal(w, []string{"anna@example.org by shop-mail", "ben@example.org by shop-mail"},
			func() []string { w.happens(object{}); return box.messages() }(), "another one passes it")
		box.empty()
		o := w.occurrence(id)
		require.Equal(w, "scheduled", o.State)
		require.Equal(w, at, *o.SendAt)
		require.Nil(w, o.ExpiresAt)
		require.Empty(w, w.deliveries(id))
		_, es := w.recorded(since)
		require.Equal(w, at.Format(time.RFC3339), es[0].After["send_at"])

		w.clock.Advance(time.Hour)
		w.done(id)
		require.Equal(w, []string{"anna@example.org by shop-mail", "ben@example.org by shop-mail"}, box.messages())
		require.Equal(w, at, *w.occurrence(id).SendAt)
	}))

	t.Run("AMomentThatHasPassedIsAtOnce", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		box := w.work()
		id := w.happens(object{"options": object{"send_at": w.clock.Now().Add(-time.Hour).Format(time.RFC3339)}})
		require.Len(w, box.all(), 1)
		require.Nil(w, w.occurrence(id).SendAt)
	}))

	t.Run("OpenOnesAreSkippedAtExpiry", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		late := w.trigger(object{"options": object{"expires_at": w.clock.Now().Add(time.Minute).Format(time.RFC3339)}})
		retried := w.trigger(object{"options": object{"expires_at": w.clock.Now().Add(time.Hour).Format(time.RFC3339), "limit_to": list{"anna"}}})
		w.expandAll()
		w.clock.Advance(time.Minute)
		box := &outbox{}
		box.answers(refusing("anna@example.org", "451 later", true))
		w.workInto(box)
		w.done(late)
		require.Equal(w, []string{"anna@example.org by shop-mail: skipped, expired"}, w.deliveryStates(late))
		require.Equal(w, "The message to anna@example.org by shop-mail was skipped: expired.", w.explain(late, "anna").Summary)
		w.eventually(occurrencePath(retried), func(o occurrence) bool { return o.Counts["retrying"] == 1 })
		w.clock.Advance(time.Hour)
		w.done(retried)
		require.Equal(w, []string{"anna@example.org by shop-mail: skipped, expired"}, w.deliveryStates(retried))
		require.Equal(w, "451 later", w.deliveries(retried)[0].LastError)
	}))

	t.Run("ARepetitionIsAnsweredWhateverTheTime", both(func(w *world) {
		w.apply(orders())
		again := w.with("Idempotency-Key", "a")
		body := object{"options": object{"send_at": w.clock.Now().Add(time.Minute).Format(time.RFC3339), "expires_at": w.clock.Now().Add(time.Hour).Format(time.RFC3339)}}
		first := again.trigger(body)
		w.clock.Advance(2 * time.Hour)
		w.unchanged(func() {
			require.Equal(w, first, again.trigger(body))
			w.post(orderPath, body).isBadRequestFor("options.expires_at")
		})
	}))

	t.Run("MistakesAre400AndNameTheField", both(func(w *world) {
		w.apply(orders())
		in := func(d time.Duration) string { return w.clock.Now().Add(d).Format(time.RFC3339) }
		w.unchanged(func() {
			for _, c := range []struct {
				options object
				field   string
			}{
				{object{"send_at": "tomorrow"}, "options.send_at"},
				{object{"send_at": 1790000000}, "options.send_at"},
				{object{"send_at": in(367 * 24 * time.Hour)}, "options.send_at"},
				{object{"expires_at": in(-time.Second)}, "options.expires_at"},
				{object{"expires_at": "2026-13-01T00:00:00Z"}, "options.expires_at"},
				{object{"send_at": in(time.Hour), "expires_at": in(time.Hour)}, "options.expires_at"},
				{object{"expires_at": in(367 * 24 * time.Hour)}, "options.expires_at"},
			} {
				w.post(orderPath, object{"options": c.options}).isBadRequestFor(c.field)
				c.options["dry_run"] = true
				w.post(orderPath, object{"options": c.options}).isBadRequestFor(c.field)
			}
			w.post(orderPath, object{"options": object{"send_at": in(400 * 24 * time.Hour), "expires_at": in(-time.Second), "limit_to": list{"nobody"}}}).
				isBadRequestFor("options.send_at", "options.expires_at", "options.limit_to")
		})
		w.post(orderPath, object{"options": object{"send_at": nil, "expires_at": nil}}).is(http.StatusCreated)
	}))
}
