package chaos_test

import (
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

// TestPool has two mail servers share the messages of one channel's addresses. One of them dies in
// the middle, and the other one takes over before the first is back.
func TestPool(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, url string) {
		crowd := chosenSize().people
		s := project{project: "pool", people: crowd, concurrency: 16, sink: newMailServer(t, 20*time.Millisecond), second: newMailServer(t, 20*time.Millisecond)}
		w := newWorld(t, url, []string{"TOCSIN_SEND_TIMEOUT=5s"}, s)
		i := w.serve()
		o := i.trigger(s)
		s.sink.await(crowd / 3)
		share := len(s.second.messages())
		s.sink.down()
		died := time.Now()
		s.second.await(max(crowd/5, share) + crowd/20)
		took := time.Since(died)
		assert.Equal(t, all(map[string]int{"sent": crowd}), i.done(o), "all arrive")
		repeats := s.repeats(t)
		assert.LessOrEqual(t, repeats, 16, "what the dead one had before it, and did not answer")
		s.sink.up()
		i.stop()
		t.Logf("%d recipients: %d by the first, which died; more than its share by the second after %s; %d repeats", crowd, len(s.sink.messages()), took.Round(time.Millisecond), repeats)
	})
}
