package delivery_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// TestBrokenTemplateIsMetered checks that messages which fail before an attempt count as failed, so
// that an alert fires.
func TestBrokenTemplateIsMetered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &meter{recorded: map[deliveries.State]int{}}
		set := settings()
		set.Meter = m
		work(t, newFakeQueue(3, nil), fakeDriver{}, plainComposer{fail: true}, set, func() { let(time.Minute) })
		failed := delivery.Attempt{Protocol: channels.EMAIL, Became: deliveries.Failed, Untried: true}
		assert.Equal(t, []delivery.Attempt{failed, failed, failed}, m.attempts)
		assert.Equal(t, map[deliveries.State]int{deliveries.Failed: 3}, m.recorded)
	})
}

// TestFailuresOfAHostAreMetered checks that each message counts as failed once, whether it got an
// attempt or not.
func TestFailuresOfAHostAreMetered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages = 300
		q, _ := newHooks(messages, "https://gone.example/hook")
		d := fakeDriver{dispatch: func(context.Context, deliveries.Message) error {
			return deliveries.Unanswered("the connection was refused")
		}}
		m := &meter{recorded: map[deliveries.State]int{}}
		set := settings()
		set.Meter, set.Poll, set.Retry.For = m, 10*time.Second, 2*time.Hour
		work(t, q, d, plainComposer{}, set, func() { let(set.Retry.For + set.Retry.For/2 + set.Retry.Max) })
		failed, untried := 0, 0
		for _, a := range m.attempts {
			if a.Became == deliveries.Failed {
				failed++
			}
			if a.Untried {
				untried++
				assert.Equal(t, delivery.Attempt{Protocol: channels.WEBHOOK, Became: deliveries.Failed, Untried: true}, a)
			}
		}
		assert.Equal(t, messages, failed)
		assert.Positive(t, untried)
		assert.Equal(t, messages, m.recorded[deliveries.Failed])
	})
}
