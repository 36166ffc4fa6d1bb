package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/test/pgtest"
)

// TestRate has three instances send through a channel that allows 100 messages a second. Then one
// of them is killed, and another one comes. What is counted is what the mail server took in a
// second, so it runs beside no other test.
func TestRate(t *testing.T) {
	t.Run(postgres, func(t *testing.T) {
		const people, rate = 2_000, 100
		s := shop{project: "rate", people: people, concurrency: 16, rate: rate, sink: newSink(t, 20*time.Millisecond)}
		w := newWorld(t, pgtest.New(t), nil, s)
		first, second, third := w.serve(), w.serve(), w.serve()
		o := first.trigger(s)
		s.sink.await(people / 2)
		second.kill()
		s.sink.await(people * 3 / 4)
		fourth := w.serve()
		assert.Equal(t, all(map[string]int{"sent": people}), first.done(o))
		repeats, most := s.repeats(t), s.sink.busiest()
		assert.LessOrEqual(t, repeats, repeatsPerKill)
		assert.LessOrEqual(t, most, rate*105/100, "no second sees more than 5 % above the limit")
		for _, i := range []*instance{first, third, fourth} {
			i.stop()
		}
		t.Logf("%d recipients: at most %d in a second, %d repeats", people, most, repeats)
	})
}

// TestConcurrency has three instances share how many messages are under way at once, has one of
// them killed and a fourth come.
func TestConcurrency(t *testing.T) {
	t.Run(postgres, func(t *testing.T) {
		const people, limit = 2_000, 16
		s := shop{project: "at-once", people: people, concurrency: limit, sink: newSink(t, 100*time.Millisecond)}
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
