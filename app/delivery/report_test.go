package delivery_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// lines returns the log lines with this message.
func lines(log []map[string]any, message string) (found []map[string]any) {
	for _, l := range log {
		if l["msg"] == message {
			found = append(found, l)
		}
	}
	return found
}

// TestFailedDeliveriesLogged with who they belong to, without addresses, and only some
// of many.
func TestFailedDeliveriesLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		c := q.open(7, channels.EMAIL, nil)
		for range 40 {
			q.addTo(c, "Ada@Bücher.example")
		}
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			return deliveries.Refused("550 no such mailbox: ada@xn--bcher-kva.example")
		}}
		_, log := logged(t, q, d, settings(), func(*delivery.Worker) {
			for range 2 {
				let(31 * time.Second)
				q.set(func(q *fakeQueue) { q.addTo(c, "Ada@Bücher.example") })
			}
			for range 15 {
				q.set(func(q *fakeQueue) { q.addTo(c, "Ada@Bücher.example") })
			}
			let(10 * time.Second)
		})
		assert.Equal(t, 57, q.count(deliveries.Failed))
		failed := lines(log, "a delivery has failed")
		require.Len(t, failed, 20, "ten in a minute")
		for _, l := range failed {
			assert.EqualValues(t, 7, l["organization"])
			assert.EqualValues(t, c, l["channel"])
			assert.EqualValues(t, 1, l["attempts"])
			assert.Contains(t, l, "occurrence")
			assert.Positive(t, l["delivery"])
			assert.Equal(t, "550 no such mailbox: ***", l["error"])
		}
		assert.NotContains(t, failed[9], "others_not_logged")
		assert.EqualValues(t, 31, failed[10]["others_not_logged"])
		rest := lines(log, "further deliveries of a channel have failed")
		require.Len(t, rest, 1)
		assert.EqualValues(t, 6, rest[0]["count"], "whoever ends says what it has not")
	})
}

// TestAddressLoggedInNoPart checks that no beginning of an address is left where a long answer is
// shortened: in the log, and in what the channel's page shows.
func TestAddressLoggedInNoPart(t *testing.T) {
	t.Parallel()
	const address = "https://ada.example.org/lovelace"
	answer := strings.Repeat("-", deliveries.MaxError-10) + address + strings.Repeat("-", 100)
	for name, c := range map[string]struct {
		err  error
		of   channels.Protocol
		last string
	}{
		"refused":     {deliveries.Refused("%s", answer), channels.EMAIL, "…"},
		"out of time": {deliveries.Postponed("%s", strings.TrimPrefix(answer, strings.Repeat("-", 41))), channels.EMAIL, "… (no attempt is left within retry_for)"},
		"unreachable": {deliveries.Unreachable("%s", answer), channels.EMAIL, "…"},
		"unanswered":  {deliveries.Unanswered("%s", answer), channels.WEBHOOK, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(0, nil)
				to := q.open(7, c.of, nil)
				for range 10 {
					q.addTo(to, address)
				}
				set := settings()
				if name == "out of time" {
					set.Retry.For = time.Second
				}
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return c.err }}
				_, log := logged(t, q, d, set, func(*delivery.Worker) { let(10 * time.Second) })
				var said []any
				for _, l := range log {
					if l["error"] != nil {
						said = append(said, l["error"])
					}
				}
				for _, o := range q.outages {
					if o.Error != "" {
						said = append(said, o.Error)
					}
				}
				require.NotEmpty(t, said)
				for _, text := range said {
					assert.NotContains(t, text, "http")
					assert.Contains(t, text, "***---")
					assert.Regexp(t, regexp.QuoteMeta(c.last)+"$", text)
				}
			})
		})
	}
}

// TestRetryNotLogged checks that a delivery which may still be sent is not logged.
func TestRetryNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Postponed("451 greylisted") }}
		_, log := logged(t, newFakeQueue(3, nil), d, settings(), func(*delivery.Worker) { let(time.Minute) })
		assert.Empty(t, lines(log, "a delivery has failed"))
	})
}

// TestRestLogged once when it begins to and once when it works again.
func TestRestLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if away.Load() {
				return deliveries.Unreachable("connection refused for a@b.example")
			}
			return nil
		}}
		_, log := logged(t, newFakeQueue(30, nil), d, settings(), func(w *delivery.Worker) {
			let(3 * time.Minute)
			assert.Equal(t, delivery.Unreachable, w.PausedChannels()[1].Reason)
			away.Store(false)
			let(3 * time.Minute)
			assert.Empty(t, w.PausedChannels())
		})
		pauses := lines(log, "a channel is paused, because its provider is unreachable")
		require.Len(t, pauses, 1)
		assert.EqualValues(t, 1, pauses[0]["channel"])
		assert.Equal(t, "connection refused for ***", pauses[0]["error"])
		assert.Len(t, lines(log, "a channel works again"), 1)
	})
}

// TestRequestedPauseLogged checks that a pause which the provider asks for is not taken for an
// outage, also when one follows the other.
func TestRequestedPauseLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if away.Load() {
				return deliveries.Unreachable("connection refused")
			}
			return withRetryAfter(deliveries.Unreachable("answered 429"), 10*time.Minute)
		}}
		_, log := logged(t, newFakeQueue(30, nil), d, settings(), func(w *delivery.Worker) {
			let(25 * time.Minute)
			assert.Equal(t, delivery.Requested, w.PausedChannels()[1].Reason)
			assert.Equal(t, time.Now().Add(5*time.Minute).Truncate(time.Minute), w.PausedChannels()[1].Until.Truncate(time.Minute))
			away.Store(true)
			let(10*time.Minute + time.Second)
			assert.Equal(t, delivery.Unreachable, w.PausedChannels()[1].Reason)
		})
		var said []any
		for _, l := range log {
			if l["until"] != nil {
				said = append(said, l["msg"], l["error"])
			}
		}
		assert.Equal(t, []any{"a channel is paused, because its provider asked for it", "answered 429",
			"a channel is paused, because its provider is unreachable", "connection refused"}, said, "each pause of a kind once")
	})
}

// meter records its calls.
type meter struct {
	mu       sync.Mutex
	attempts []delivery.Attempt
	recorded map[deliveries.State]int
	failed   int // expansions
}

func (m *meter) Attempted(a delivery.Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts = append(m.attempts, a)
}

func (m *meter) Recorded(all []deliveries.Outcome, _ int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range all {
		m.recorded[o.State]++
	}
}

func (m *meter) Expanded(deliveries.Expansion) {}

func (m *meter) ExpansionFailed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed++
}

// unexpandable is a queue with an occurrence that cannot be expanded for a while.
type unexpandable struct {
	*fakeQueue
	failures int
}

func (q *unexpandable) Expand(ctx context.Context, part deliveries.ExpansionPart, limit int) (deliveries.Expansion, error) {
	if q.failures == 0 {
		return q.fakeQueue.Expand(ctx, part, limit)
	}
	q.failures--
	if q.failures == 0 {
		return deliveries.Expansion{}, errors.New("no connection") // No occurrence was found.
	}
	return deliveries.Expansion{Occurrence: 1}, errors.New("refused")
}

// TestWorkerCountsFailedExpansions checks that only failures of occurrences count, not that there
// is nothing to do, or no database.
func TestWorkerCountsFailedExpansions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &meter{recorded: map[deliveries.State]int{}}
		set := settings()
		set.Meter = m
		work(t, &unexpandable{newFakeQueue(0, nil), 3}, fakeDriver{}, plainComposer{}, set, func() { let(time.Minute) })
		assert.Equal(t, 2, m.failed)
	})
}

func TestWorkerMeter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &meter{recorded: map[deliveries.State]int{}}
		set := settings()
		set.Meter = m
		var tried atomic.Int32
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(time.Second)
			if tried.Add(1) == 1 {
				return errors.New("boom")
			}
			return nil
		}}
		work(t, newFakeQueue(1, nil), d, plainComposer{}, set, func() { let(time.Minute) })
		require.Len(t, m.attempts, 2)
		first, second := m.attempts[0], m.attempts[1]
		assert.Equal(t, delivery.Attempt{Protocol: channels.EMAIL, Became: deliveries.Retrying, Took: time.Second, Waited: first.Waited}, first)
		assert.Equal(t, delivery.Attempt{Protocol: channels.EMAIL, Became: deliveries.Sent, Took: time.Second}, second, "only the first one waits for its turn")
		assert.Equal(t, map[deliveries.State]int{deliveries.Retrying: 1, deliveries.Sent: 1}, m.recorded)
	})
}
