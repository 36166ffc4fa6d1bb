package delivery_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// TestHostThatDoesNotAnswer checks that a message which is postponed because of its host says why,
// and that the log says it once for each host, without the secrets of an address.
func TestHostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const address = "https://ada:password@down.example:8443/hook?key=token"
		q := newFakeQueue(0, nil)
		hooks := q.open(7, channels.WEBHOOK, nil)
		for range 8 {
			q.addTo(hooks, address)
		}
		var mended atomic.Bool
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if mended.Load() {
				return nil
			}
			return deliveries.Unanswered("the connection broke: %s", address)
		}}
		_, log := logged(t, q, d, settings(), func(*delivery.Worker) {
			let(2 * time.Second)
			q.set(func(q *fakeQueue) { q.addTo(hooks, address) })
			q.added <- struct{}{}
			let(time.Second)
			row := q.row(9)
			assert.Equal(t, deliveries.Pending, row.state)
			assert.Zero(t, row.outcome.Attempts)
			assert.Equal(t, "the host did not answer: the connection broke: ***", row.outcome.Error)
			let(time.Minute)
			for id := range deliveries.ID(9) {
				if r := q.row(id + 1); r.state == deliveries.Retrying {
					assert.NotContains(t, r.outcome.Error, "the host did not answer", "it keeps the error of its own attempt")
				}
			}
			mended.Store(true)
			let(time.Hour)
		})
		assert.Equal(t, 9, q.count(deliveries.Sent))
		down := lines(log, "a host does not answer; its messages are postponed")
		require.Len(t, down, 1)
		assert.EqualValues(t, 7, down[0]["organization"])
		assert.EqualValues(t, hooks, down[0]["channel"])
		assert.Equal(t, "down.example:8443", down[0]["host"])
		assert.Equal(t, "the connection broke: ***", down[0]["error"])
		back := lines(log, "a host answers again")
		require.Len(t, back, 1)
		assert.Equal(t, "down.example:8443", back[0]["host"])
		for _, secret := range []string{"password", "hook", "token"} {
			assert.NotContains(t, fmt.Sprint(log), secret)
		}
	})
}

// TestHostThatIsGone checks that messages to a host that never answers fail when their time is up,
// although most of them never get an attempt.
func TestHostThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages = 300
		q, _ := newHooks(messages, "https://gone.example/hook")
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			return deliveries.Unanswered("the connection was refused")
		}}
		set := settings()
		set.Poll, set.Retry.For = 10*time.Second, 2*time.Hour
		work(t, q, d, plainComposer{}, set, func() {
			let(set.Retry.For / 2)
			assert.Zero(t, q.count(deliveries.Failed), "the time is not up")
			let(set.Retry.For + set.Retry.Max) // The last attempt is followed by a pause.
		})
		assert.Equal(t, messages, q.count(deliveries.Failed))
		untried := 0
		for id := range deliveries.ID(messages) {
			r := q.row(id + 1)
			assert.Contains(t, r.outcome.Error, "(no attempt is left within retry_for)")
			if r.outcome.Attempts == 0 {
				untried++
				assert.Contains(t, r.outcome.Error, "the host did not answer: the connection was refused")
			}
		}
		assert.Positive(t, untried)
	})
}

// TestHostThatIsAwayBriefly checks that old messages do not fail because of a host that has just
// stopped answering.
func TestHostThatIsAwayBriefly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, _ := newHooks(50, "https://away.example/hook")
		for id := range deliveries.ID(50) { // They have waited for two days.
			q.rows[id+1].job.Created = time.Now().Add(-48 * time.Hour)
		}
		var mended atomic.Bool
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			if mended.Load() {
				return nil
			}
			return deliveries.Unanswered("the connection was refused")
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(10 * time.Minute)
			mended.Store(true)
			let(2 * time.Hour)
		})
		assert.Equal(t, 50, q.count(deliveries.Sent))
	})
}

// TestHostThatIsTooSlow is about messages that are postponed before an attempt has failed.
func TestHostThatIsTooSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, _ := newHooks(100, "https://hangs.example/hook")
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			let(29 * time.Second)
			return deliveries.Unanswered("no answer in time")
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(20 * time.Second)
			said := map[string]int{}
			for id := range deliveries.ID(100) {
				said[q.row(id+1).outcome.Error]++
			}
			assert.Greater(t, said["the host does not answer in time"], 50)
			assert.Len(t, said, 2, "nothing else is said: %v", said)
		})
	})
}

// TestSlowHostAndOthers is about a host that answers slowly, but always in time. It holds up no
// messages to other hosts, and its own lose no attempts.
func TestSlowHostAndOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 300
		q, _ := newHooks(count, "https://slow.example/hook", "https://works.example/hook")
		var sent atomic.Int32
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			if m.To == "https://works.example/hook" {
				sent.Add(1)
				return nil
			}
			let(1900 * time.Millisecond)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			let(5 * time.Second)
			assert.EqualValues(t, count, sent.Load(), "attempts are free for them")
			let(count / 12 * 2 * time.Second)
		})
		assert.Equal(t, 2*count, q.count(deliveries.Sent))
		assert.Less(t, q.givenBack, 2*count, "most are given back once, while others go")
		for id := range deliveries.ID(2 * count) {
			assert.Equal(t, 1, q.row(id+1).outcome.Attempts)
		}
	})
}

// TestSlowHostAndFewOthers is about many messages to a slow host, and now and then one to another
// host. It waits for few of them, and costs few postponements.
func TestSlowHostAndFewOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count, others = 2_000, 60
		q, hooks := newHooks(count, "https://slow.example/hook")
		var longest time.Duration
		d := fakeDriver{dispatch: func(_ context.Context, m deliveries.Message) error {
			if m.To == "https://works.example/hook" {
				q.set(func(q *fakeQueue) {
					id, _ := utf8.DecodeRuneInString(m.ID)
					longest = max(longest, time.Since(q.rows[deliveries.ID(id)].job.Created))
				})
				return nil
			}
			let(time.Second)
			return nil
		}}
		work(t, q, d, plainComposer{}, settings(), func() {
			for range others {
				let(time.Second)
				q.set(func(q *fakeQueue) { // It goes next, like the first message of another occurrence.
					q.addTo(hooks, "https://works.example/hook")
					q.rows[deliveries.ID(len(q.rows))].next = time.Time{}
				})
			}
			let(10 * time.Second)
		})
		q.set(func(q *fakeQueue) {
			assert.Less(t, longest, 10*time.Second, "what was claimed before goes before it")
			assert.Less(t, q.givenBack, 30*others)
		})
	})
}

// TestHostsAreNotPostponed checks that messages are not given back where this helps no other host.
func TestHostsAreNotPostponed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts, messages int
		answer          time.Duration
	}{
		"OneFastHost":   {1, 10_000, 5 * time.Millisecond},
		"OneSlowHost":   {1, 1_000, time.Second},
		"TwoFastHosts":  {2, 3_000, 5 * time.Millisecond},
		"TwoSlowHosts":  {2, 1_000, time.Second},
		"ManyFastHosts": {40, 3_000, 5 * time.Millisecond},
		"ManySlowHosts": {40, 1_000, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue(0, nil)
				hooks := q.open(1, channels.WEBHOOK, nil)
				for n := range c.messages {
					q.addTo(hooks, fmt.Sprintf("https://h%d.example/hook", n%c.hosts))
				}
				d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
					let(c.answer)
					return nil
				}}
				work(t, q, d, plainComposer{}, settings(), func() { let(time.Duration(c.messages)*c.answer/12 + 5*time.Second) })
				assert.Equal(t, c.messages, q.count(deliveries.Sent))
				assert.Zero(t, q.givenBack)
			})
		})
	}
}

// TestFewHostsLogged bounds the log of a channel whose recipients have many hosts that are down.
func TestFewHostsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue(0, nil)
		hooks := q.open(1, channels.WEBHOOK, nil)
		for host := range 30 {
			for range 5 {
				q.addTo(hooks, fmt.Sprintf("https://h%d.example/hook", host))
			}
		}
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error { return deliveries.Unanswered("the connection broke") }}
		_, log := logged(t, q, d, settings(), func(*delivery.Worker) { let(30 * time.Second) })
		assert.Len(t, lines(log, "a host does not answer; its messages are postponed"), 10)
	})
}
