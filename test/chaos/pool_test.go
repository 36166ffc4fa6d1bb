package chaos_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestPoolAtItsLimit gives four fifths of all messages to a member of a pool that may send 20 a
// second. The other one takes over what waits for it: for 2,000 messages it would take 80 seconds
// alone.
func TestPoolAtItsLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		const rate = 20
		crowd := chosenSize().paced
		s := project{project: "limit", people: crowd, concurrency: 16, rate: rate, sink: newMailServer(t, time.Millisecond), second: newMailServer(t, time.Millisecond)}
		w := newWorld(t, url, nil, s)
		i := w.serve()
		o := i.trigger(s)
		assert.Equal(t, all(map[string]int{"sent": crowd}), i.done(o), "all arrive")
		assert.Zero(t, s.repeats(t), "each once")
		first, second := len(s.sink.messages()), len(s.second.messages())
		assert.Greater(t, second, crowd/2, "the other one took over")
		assert.Positive(t, first, "while the one at its limit went on")
		i.stop()
		t.Logf("%d recipients: %d by the one with %d a second, %d by the other", crowd, first, rate, second)
	})
}

// TestPool has two mail servers share the messages of one channel's addresses by their weights. One
// of them dies in the middle, and the other one takes over before the first is back. The test
// measures how soon, so it does not run beside other tests.
func TestPool(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		const weight, tolerance, soon, atOnce = 0.2, 0.03, 2 * time.Second, 16
		size := chosenSize()
		crowd := max(size.people, 4_000) // So many that draws at random are within the tolerance, too.
		s := project{project: "pool", people: crowd, sink: newMailServer(t, 20*time.Millisecond), second: newMailServer(t, 20*time.Millisecond)}
		w := newWorld(t, url, []string{"TOCSIN_SEND_TIMEOUT=5s"}, s)
		i := w.serve()
		o := i.trigger(s)
		until(t, stepTimeout, "everybody has a delivery", func() bool {
			sum := 0
			for _, n := range i.show(o).Counts {
				sum += n
			}
			return sum == crowd
		})
		mine := i.recipientsOf(o, "second")
		assert.InDelta(t, weight, float64(len(mine))/float64(crowd), tolerance, "the weights hold")
		s.sink.await(crowd / 3)
		died := time.Now()
		s.sink.down()
		s.second.await(crowd - len(s.sink.messages()) - atOnce)
		<-time.After(size.outage - time.Since(died))
		s.sink.up()
		assert.Equal(t, all(map[string]int{"sent": crowd}), i.done(o), "all arrive")
		repeats := s.repeats(t)
		assert.LessOrEqual(t, repeats, atOnce, "what the dead one had before it, and did not answer")

		opened, moved := i.logged(t, "a channel is paused, because its provider is unreachable"), i.logged(t, "deliveries were given to others of the pool")
		var took time.Duration
		for _, m := range s.second.messages() {
			switch {
			case mine[m.to]:
			case m.came.Before(died):
				assert.Failf(t, "the weights hold until the other one dies", "%s", m.to)
			case took == 0 && m.came.After(moved):
				took = m.came.Sub(opened)
			}
		}
		assert.Positive(t, took, "what waited for the dead one has come to the other one")
		assert.Less(t, took, soon, "the takeover, from the moment when the breaker opened")
		i.stop()
		t.Logf("%d recipients, %d of them of the second; %d by the first; the breaker opened after %s, and the second took over within %s; %d repeats", crowd,
			len(mine), len(s.sink.messages()), opened.Sub(died).Round(time.Millisecond), took.Round(time.Millisecond), repeats)
	})
}

// recipientsOf returns the addresses of the deliveries of an occurrence that use a channel.
func (i *instance) recipientsOf(path, channel string) map[string]bool {
	i.t.Helper()
	var found []struct{ Address string }
	i.call(http.MethodGet, path+"deliveries/?channel="+channel, "", &found)
	addresses := map[string]bool{}
	for _, d := range found {
		addresses[d.Address] = true
	}
	return addresses
}
