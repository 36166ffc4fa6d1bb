package chaos_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/test/pgtest"
)

// TestRate has three instances send through a channel that allows 100 messages a second. Then one
// of them is killed, and another one starts. The test counts the messages that the mail server
// accepts in a second, so it does not run beside other tests. Messages that a stall of the machine
// held up arrive together with those after it: as many more are no fault.
func TestRate(t *testing.T) {
	t.Run(postgres, func(t *testing.T) {
		const rate = 100
		people := chosenSize().paced
		s := project{project: "rate", people: people, concurrency: 16, rate: rate, sink: newMailServer(t, 20*time.Millisecond)}
		w := newWorld(t, pgtest.New(t), nil, s)
		first, second, third := w.serve(), w.serve(), w.serve()
		stall := longestStall()
		o := first.trigger(s)
		s.sink.await(people / 2)
		second.kill()
		s.sink.await(people * 3 / 4)
		fourth := w.serve()
		assert.Equal(t, all(map[string]int{"sent": people}), first.done(o))
		repeats, most, late := s.repeats(t), s.sink.busiest(), stall()
		assert.LessOrEqual(t, repeats, repeatsPerKill)
		assert.LessOrEqual(t, most, rate*105/100+int(rate*late.Seconds()), "no second sees more than 5 % above the limit; the machine stalled for %s", late)
		for _, i := range []*instance{first, third, fourth} {
			i.stop()
		}
		t.Logf("%d recipients: at most %d in a second, %d repeats; the machine stalled for %s", people, most, repeats, late)
	})
}

// longestStall measures how late the machine wakes a goroutine, until the function that it returns
// is called: this ends it and returns the longest delay.
func longestStall() (end func() time.Duration) {
	ended, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			began := time.Now()
			select {
			case <-ended:
				longest <- most
				return
			case <-time.After(stallStep):
				most = max(most, time.Since(began)-stallStep)
			}
		}
	}()
	return func() time.Duration {
		close(ended)
		return <-longest
	}
}

const stallStep = 5 * time.Millisecond

// TestConcurrency has three instances share the number of concurrent messages. One of them is
// killed, and a fourth one starts.
func TestConcurrency(t *testing.T) {
	t.Run(postgres, func(t *testing.T) {
		const limit = 16
		people := chosenSize().paced
		s := project{project: "at-once", people: people, concurrency: limit, sink: newMailServer(t, 100*time.Millisecond)}
		w := newWorld(t, pgtest.New(t), nil, s)
		first, second, third := w.serve(), w.serve(), w.serve()
		o := first.trigger(s)
		s.sink.await(people / 3)
		second.kill()
		s.sink.await(people * 2 / 3)
		fourth := w.serve()
		assert.Equal(t, all(map[string]int{"sent": people}), first.done(o))
		repeats, most := s.repeats(t), s.sink.mostAtOnce()
		assert.LessOrEqual(t, repeats, repeatsPerKill)
		assert.LessOrEqual(t, most, limit)
		for _, i := range []*instance{first, third, fourth} {
			i.stop()
		}
		t.Logf("%d recipients: at most %d at once, %d repeats", people, most, repeats)
	})
}

// TestQuota has three instances share the monthly quota of a channel. One of them is killed, and
// another one starts. Then the quota is raised for the other messages.
func TestQuota(t *testing.T) {
	t.Parallel()
	t.Run(postgres, func(t *testing.T) {
		const people, quota, atOnce = 1_500, 1_000, 10 // An instance reserves a hundredth at once.
		s := project{project: "quota", people: people, concurrency: 16, quota: quota, sink: newMailServer(t, 20*time.Millisecond)}
		began := time.Now().UTC().Month()
		w := newWorld(t, pgtest.New(t), nil, s)
		first, second, third := w.serve(), w.serve(), w.serve()
		o := first.trigger(s)
		s.sink.await(quota / 3)
		second.kill()
		s.sink.await(quota * 2 / 3)
		fourth := w.serve()
		s.sink.await(quota - 2*atOnce) // The killed one had reserved some, and was about to reserve more.
		until(t, stepTimeout, "the rest waits for the quota", func() bool {
			if time.Now().UTC().Month() != began {
				return true // The quota has begun anew.
			}
			var rest []struct{ Waiting struct{ For string } }
			first.call(http.MethodGet, o+"deliveries/?state=pending&limit=1", "", &rest)
			return len(rest) == 1 && rest[0].Waiting.For == "quota of the channel"
		})
		sent := len(s.sink.messages())
		if time.Now().UTC().Month() == began {
			assert.LessOrEqual(t, sent, quota, "of what a killed instance had reserved nothing is sent by others")
		}
		s.quota = 2 * people
		w.apply([]project{s})
		assert.Equal(t, all(map[string]int{"sent": people}), first.done(o))
		repeats := s.repeats(t)
		assert.LessOrEqual(t, repeats, repeatsPerKill)
		for _, i := range []*instance{first, third, fourth} {
			i.stop()
		}
		t.Logf("%d recipients: %d sent by a quota of %d, %d repeats", people, sent, quota, repeats)
	})
}
