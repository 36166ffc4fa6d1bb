package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/deliveries"
)

func recordCases() cases {
	return cases{
		"RepeatedOutcomesAreNotLost": func(t *testing.T, w *world) {
			o := w.waiting(t, 3)
			jobs := w.claim(t, w.mine.mail, "one", 3, lease)
			outcomes := []deliveries.Outcome{{ID: jobs[0].ID, State: deliveries.Sent, Attempts: 1},
				{ID: jobs[1].ID, State: deliveries.Retrying, Error: "busy", Attempts: 1, Next: time.Now().Add(-time.Second)}}
			assert.Zero(t, w.record(t, "one", outcomes...))
			assert.Equal(t, 2, w.record(t, "one", outcomes...))
			assert.Len(t, w.claim(t, w.mine.mail, "two", 3, lease), 1, "the second one is due again")
			outcomes = append(outcomes, deliveries.Outcome{ID: jobs[2].ID, State: deliveries.Failed, Error: "x", Attempts: 1})
			for i := range outcomes {
				outcomes[i].Repeated = true
			}
			assert.Zero(t, w.record(t, "one", outcomes...), "the answer to the first two was lost")
			assert.Equal(t, deliveries.Failed, w.delivery(t, o, jobs[2].ID).State)
		},
		"RecordsTheOutcome": func(t *testing.T, w *world) {
			o := w.waiting(t, 6)
			jobs := w.claim(t, w.mine.mail, "one", 10, lease)
			next := time.Now().Add(time.Minute).Truncate(time.Microsecond)
			outcomes := []deliveries.Outcome{
				{State: deliveries.Sent, Attempts: 1},
				{State: deliveries.Sent, Attempts: 3},
				{State: deliveries.Failed, Error: "550 no such mailbox", Attempts: 2},
				{State: deliveries.Skipped, Reason: deliveries.OptedOut, Attempts: 1},
				{State: deliveries.Retrying, Error: "451 later", Next: next, Attempts: 4},
				{State: deliveries.Pending, Next: next},
			}
			for i := range outcomes {
				outcomes[i].ID = jobs[i].ID
			}
			assert.Zero(t, w.record(t, "one", outcomes...))
			for _, want := range outcomes {
				d := w.delivery(t, o, want.ID)
				assert.Equal(t, want.State, d.State)
				assert.Equal(t, want.Reason, d.Reason)
				assert.Equal(t, want.Error, d.LastError)
				assert.Equal(t, want.Attempts, d.Attempts)
				assert.Equal(t, want.State.Open(), d.Finished.IsZero())
				assert.WithinDuration(t, want.Next, d.Next, time.Second)
			}
			assert.Equal(t, 6, w.record(t, "one", outcomes...), "nobody holds them any more")
		},
		"OnlyForOwnClaims": func(t *testing.T, w *world) {
			o := w.waiting(t, 3)
			mine, free := w.claim(t, w.mine.mail, "one", 1, lease), deliveries.ID(0)
			theirs := w.claim(t, w.mine.mail, "two", 1, lease)
			for _, d := range w.made(t, o) {
				if d.State == deliveries.Pending {
					free = d.ID
				}
			}
			var outcomes []deliveries.Outcome
			for _, id := range []deliveries.ID{mine[0].ID, theirs[0].ID, free, 1 << 40} {
				outcomes = append(outcomes, deliveries.Outcome{ID: id, State: deliveries.Failed, Error: "x", Attempts: 1})
			}
			assert.Equal(t, 3, w.record(t, "one", outcomes...))
			assert.Equal(t, map[deliveries.State]int{deliveries.Failed: 1, deliveries.Sending: 1, deliveries.Pending: 1}, w.counts(t, o))
			assert.Zero(t, w.record(t, "one"), "nothing is nothing")
		},
		"TheLastErrorStays": func(t *testing.T, w *world) {
			o := w.waiting(t, 1)
			id := w.claim(t, w.mine.mail, "one", 1, lease)[0].ID
			w.record(t, "one", deliveries.Outcome{ID: id, State: deliveries.Retrying, Error: "451 later", Attempts: 1})
			w.claim(t, w.mine.mail, "one", 1, lease)
			w.record(t, "one", deliveries.Outcome{ID: id, State: deliveries.Retrying, Attempts: 1}) // given back untried
			assert.Equal(t, "451 later", w.delivery(t, o, id).LastError)
			assert.Equal(t, 1, w.claim(t, w.mine.mail, "one", 1, lease)[0].Attempts)
			w.record(t, "one", deliveries.Outcome{ID: id, State: deliveries.Sent, Attempts: 2})
			assert.Equal(t, "451 later", w.delivery(t, o, id).LastError, "it says why there were two attempts")
		},
		"TheErrorOfAnUntriedOneGoesWhenItIsSent": func(t *testing.T, w *world) {
			o := w.waiting(t, 1)
			id := w.claim(t, w.mine.mail, "one", 1, lease)[0].ID
			w.record(t, "one", deliveries.Outcome{ID: id, State: deliveries.Pending, Error: "the host did not answer"})
			d := w.delivery(t, o, id)
			assert.Equal(t, deliveries.Pending, d.State)
			assert.Equal(t, "the host did not answer", d.LastError, "it says why it waits")
			assert.Zero(t, d.Attempts)
			assert.Zero(t, w.claim(t, w.mine.mail, "one", 1, lease)[0].Attempts)
			w.record(t, "one", deliveries.Outcome{ID: id, State: deliveries.Sent, Attempts: 1})
			d = w.delivery(t, o, id)
			assert.Equal(t, 1, d.Attempts)
			assert.Empty(t, d.LastError, "its only attempt did not fail")
		},
		"AnAnswerOfAnyBytesIsKept": func(t *testing.T, w *world) {
			o := w.waiting(t, 2)
			jobs := w.claim(t, w.mine.mail, "one", 2, lease)
			long := strings.Repeat("é", deliveries.MaxError)
			assert.Zero(t, w.record(t, "one", deliveries.Outcome{ID: jobs[0].ID, State: deliveries.Failed, Error: "5\x00\xff0 'it''s' \u2028 \\u0000 \"quoted\"", Attempts: 1},
				deliveries.Outcome{ID: jobs[1].ID, State: deliveries.Failed, Error: long, Attempts: 1}))
			said := w.delivery(t, o, jobs[0].ID).LastError
			assert.True(t, strings.HasSuffix(said, "0 'it''s' \u2028 \\u0000 \"quoted\""), said)
			assert.Equal(t, long, w.delivery(t, o, jobs[1].ID).LastError)
		},
	}
}
