package contract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

func TestWaiting(t *testing.T) {
	t.Parallel()

	t.Run("ForItsMomentThenForItsTurn", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		at := w.clock.Now().Add(time.Hour)
		id := w.trigger(object{"options": object{"send_at": at.Format(time.RFC3339)}})
		require.Equal(w, []waiting{{For: "scheduled", Text: "the moment when it is to be sent, at " + at.Format(time.RFC3339), Until: &at}}, w.occurrence(id).Waiting)
		require.Equal(w, "The occurrence is scheduled for "+at.Format(time.RFC3339)+"; nothing stands in the way now.", w.explain(id, "anna").Summary)

		w.clock.Advance(time.Hour)
		require.Equal(w, "recipients", w.occurrence(id).Waiting[0].For, "its moment has come")
		_, err := w.store.Queue().Schedule(w.Context(), 10)
		require.NoError(w, err)
		w.expandAll()
		require.Equal(w, []waiting{{Channel: "shop-mail", For: "its turn", Text: "its turn", Ahead: new(int)}}, w.occurrence(id).Waiting)
		later := w.trigger(object{})
		w.expandAll()
		require.Equal(w, 1, *w.occurrence(later).Waiting[0].Ahead)
		require.Nil(w, w.occurrence(later).ExpectedEnd, "nothing tells its rate")
		d := w.deliveries(id)[0]
		require.Equal(w, &waiting{For: "its turn", Text: "its turn"}, d.Waiting)
		require.Nil(w, d.NextAttempt, "no next attempt is in the past")
		e := w.explain(id, "anna")
		require.Equal(w, "it waits for its turn", e.Candidates[0].Verdict)
		require.Equal(w, d, e.Deliveries[0])

		w.work()
		w.done(id)
		require.Empty(w, w.occurrence(id).Waiting)
		require.Nil(w, w.deliveries(id)[0].Waiting)
		require.Equal(w, "it was sent", w.explain(id, "anna").Candidates[0].Verdict)
	}))

	t.Run("ForAQuota", both(func(w *world) {
		b := orders()
		b.Organizations[0].Projects[0].Channels[0].Settings[channels.SettingQuotaPerMonth] = 1
		w.apply(b)
		w.buyer("anna", "anna@example.org")
		w.buyer("ben", "ben@example.org")
		w.work()
		id := w.trigger(object{})
		w.eventually(occurrencePath(id), func(o occurrence) bool {
			return o.Counts["sent"] == 1 && len(o.Waiting) == 1 && o.Waiting[0].For == "quota of the channel"
		})
		w.clock.Advance(time.Second)
		o := w.occurrence(id)
		require.Equal(w, 1, o.Waiting[0].Until.Day())
		require.Nil(w, o.ExpectedEnd, "the rate so far tells nothing")
	}))

	t.Run("ForItsRecipients", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := w.trigger(object{})
		require.Equal(w, []waiting{{For: "recipients", Text: "its recipients to be looked up"}}, w.occurrence(id).Waiting)
		w.expandAll()
		require.Equal(w, "its turn", w.occurrence(id).Waiting[0].For)
	}))

	t.Run("ForTheLimitOfItsChannelBehindOthers", both(func(w *world) {
		b := orders()
		b.Organizations[0].Projects[0].Channels[0].Settings[channels.SettingRatePerSecond] = 5
		w.apply(b)
		w.buyer("anna", "anna@example.org")
		first, second := w.trigger(object{}), w.trigger(object{})
		w.expandAll()
		one, none := 1, 0
		said := "its turn; the channel sends at most 5 a second"
		require.Equal(w, []waiting{{Channel: "shop-mail", For: "its turn", Text: said, Ahead: &none}}, w.occurrence(first).Waiting, "nothing shows that the limit is reached")
		require.Equal(w, []waiting{{Channel: "shop-mail", For: "limit of the channel", Text: "the channel, which sends at most 5 a second", Ahead: &one}}, w.occurrence(second).Waiting)
		require.Equal(w, &waiting{For: "its turn", Text: said}, w.deliveries(second)[0].Waiting)

		queue := w.store.Queue()
		due, err := queue.Due(w.Context())
		require.NoError(w, err)
		_, err = queue.Claim(w.Context(), due[0].Channel, "test", 2, time.Hour)
		require.NoError(w, err)
		const held = "a worker, which is sending it or is about to"
		require.Equal(w, []waiting{{Channel: "shop-mail", For: "answer", Text: held}}, w.occurrence(second).Waiting)
		require.Equal(w, &waiting{For: "answer", Text: held}, w.deliveries(second)[0].Waiting)
		require.Contains(w, w.explain(second, "anna").Summary, "waits for "+held)
	}))

	t.Run("ForSendingToGoOn", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		id := w.trigger(object{})
		state := func(s installation.State) {
			require.NoError(w, w.store.Update(w.Context(), func(tx ports.Tx) error { return tx.Installation().SetState(w.Context(), s) }))
		}
		const said = "sending, which is stopped in the whole installation"
		for s, want := range map[installation.State]string{{Held: w.clock.Now()}: "recipients", {ReadOnly: w.clock.Now()}: "sending is stopped", {}: "recipients"} {
			state(s)
			require.Equal(w, want, w.occurrence(id).Waiting[0].For, "before its recipients are looked up: %v", s)
			summary := "The recipients are not all looked up yet; sending is stopped in the whole installation now."
			if s.Sends() {
				summary = "The recipients are not all looked up yet; nothing stands in the way now."
			}
			require.Equal(w, summary, w.explain(id, "anna").Summary)
		}
		state(installation.State{})
		w.expandAll()
		for name, s := range map[string]installation.State{"held": {Held: w.clock.Now()}, "read-only": {ReadOnly: w.clock.Now()}} {
			state(s)
			require.Equal(w, []waiting{{Channel: "shop-mail", For: "sending is stopped", Text: said}}, w.occurrence(id).Waiting, name)
			d := w.deliveries(id)[0]
			require.Equal(w, &waiting{For: "sending is stopped", Text: said}, d.Waiting, name)
			require.Nil(w, d.NextAttempt, name)
			require.Contains(w, w.explain(id, "anna").Summary, "waits for "+said+".", name)
		}
		state(installation.State{})
		require.Equal(w, "its turn", w.occurrence(id).Waiting[0].For)
	}))

	t.Run("ForAProviderThatAskedForAPause", both(func(w *world) {
		w.apply(orders())
		w.buyer("anna", "anna@example.org")
		box := &outbox{}
		box.answers(func(m deliveries.Message) error {
			failed := deliveries.Unreachable("429 slow down %s", m.To)
			failed.RetryAfter = time.Minute
			return failed
		})
		w.workInto(box)
		until := w.clock.Now().Add(time.Minute)
		id := w.trigger(object{})
		w.eventually(occurrencePath(id), func(o occurrence) bool { return len(o.Waiting) == 1 && o.Waiting[0].For == "limit of the channel" })
		said := "the provider, which asked for a pause until " + until.Format(time.RFC3339) + ": 429 slow down ***"
		d := w.deliveries(id)[0]
		require.Equal(w, &waiting{For: "limit of the channel", Text: said, Until: &until, Error: "429 slow down ***"}, d.Waiting)
		require.Equal(w, until, *d.NextAttempt)
		require.Contains(w, w.explain(id, "anna").Summary, "waits for "+said+"; 1 attempt so far")
		require.Nil(w, w.occurrence(id).ExpectedEnd)
		box.answers(nil)
		w.clock.Advance(time.Hour)
		w.done(id)
	}))

	t.Run("ForAChannelThatDoesNotWork", both(func(w *world) {
		w.apply(orders())
		for _, name := range []string{"anna", "ben", "carl", "dora", "emil", "fritz"} {
			w.buyer(name, name+"@example.org")
		}
		since := w.clock.Now()
		box := &outbox{}
		box.answers(func(m deliveries.Message) error { return deliveries.Unreachable("421 no service for %s", m.To) })
		w.workInto(box)
		id := w.trigger(object{})
		w.eventually(occurrencePath(id), func(o occurrence) bool { return len(o.Waiting) == 1 && o.Waiting[0].For == "channel not working" })
		o := w.occurrence(id).Waiting[0]
		require.Equal(w, "shop-mail", o.Channel)
		require.Equal(w, since, *o.Since)
		require.True(w, o.Until.After(w.clock.Now()))
		require.Equal(w, "421 no service for ***", o.Error, "nobody reads whom others write to")
		w.eventually(occurrencePath(id), func(o occurrence) bool { return o.Counts["sending"] == 0 })
		for _, d := range w.deliveries(id) {
			require.Equal(w, "channel not working", d.Waiting.For)
			require.Equal(w, since, *d.Waiting.Since)
			require.True(w, d.NextAttempt.After(w.clock.Now()))
			require.NotContains(w, d.Waiting.Error, "@")
		}
		require.Contains(w, w.explain(id, "anna").Summary, "waits for the channel to work again, which has failed since "+since.Format(time.RFC3339)+": 421 no service for ***")

		other := w.trigger(object{"options": object{"limit_to": list{"anna"}}})
		w.eventually(occurrencePath(other), func(o occurrence) bool { return len(o.Waiting) == 1 && o.Waiting[0].For == "channel not working" })
		box.answers(nil)
		for range 3 {
			w.clock.Advance(time.Hour)
		}
		w.done(other)
	}))
}
