package app_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
	"github.com/tocsin/tocsin/test/databases"
)

// gatedStore is a store whose units of work begin only while its gate is open.
type gatedStore struct {
	ports.Store
	begun chan struct{}
	gate  chan struct{}
}

func (s gatedStore) Update(ctx context.Context, fn func(ports.Tx) error) error {
	s.begun <- struct{}{}
	<-s.gate
	return s.Store.Update(ctx, fn)
}

// waitingContext signals that a goroutine begins to wait for it.
type waitingContext struct {
	context.Context
	waits chan struct{}
}

func (c waitingContext) Done() <-chan struct{} {
	c.waits <- struct{}{}
	return c.Context.Done()
}

// busyTriggers are triggers of an event whose workers are all busy until the gate opens.
type busyTriggers struct {
	triggers *app.Triggers
	store    gatedStore
	done     chan events.Occurrence
}

// maxCalls is the largest number of calls of busyTriggers.
const maxCalls = 10

func newBusyTriggers(t *testing.T) busyTriggers {
	t.Helper()
	store := gatedStore{visibleSettings(t, databases.SQLite(t), seal.NewRing(keyA)), make(chan struct{}, maxCalls), make(chan struct{})}
	apply(t, store.Store, shop())
	b := busyTriggers{app.NewTriggers(store, nil, frozen{}, app.NewQuotas(frozen{}, nil, 0)), store, make(chan events.Occurrence, maxCalls)}
	for range batch.Pair {
		b.call(t, events.Options{})
		<-store.begun
	}
	return b
}

// call triggers the event and returns once the call waits.
func (b busyTriggers) call(t *testing.T, o events.Options) {
	t.Helper()
	waiting := waitingContext{t.Context(), make(chan struct{}, maxCalls)}
	go func() {
		at := app.Path{Organization: "acme", Project: "shop", Application: "web"}
		o, _, err := b.triggers.Trigger(waiting, audit.Actor{}, at, "shipped", app.Trigger{Context: events.Context("{}"), Options: o, IgnoreUnknown: true})
		assert.NoError(t, err)
		b.done <- o
	}()
	<-waiting.waits
}

// finish opens the gate, and returns the occurrences of all calls, and the number of units of those
// that waited.
func (b busyTriggers) finish(waited int) (os []events.Occurrence, units int) {
	close(b.store.gate)
	for range int(batch.Pair) + waited {
		os = append(os, <-b.done)
	}
	return os, len(b.store.begun)
}

// TestTriggerCountsRecipients checks that the recipients of four triggers of one unit of work are
// counted, and those of five are not.
func TestTriggerCountsRecipients(t *testing.T) {
	t.Parallel()
	for n, counted := range map[int]bool{4: true, 5: false} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			b := newBusyTriggers(t)
			for range n {
				b.call(t, events.Options{})
			}
			left := 0
			os, _ := b.finish(n)
			for _, o := range os {
				if o.Recipients == nil {
					left++
				} else {
					assert.Zero(t, *o.Recipients)
				}
			}
			assert.Equal(t, map[bool]int{true: 0, false: n}[counted], left)
		})
	}
}

// TestTriggersOfManyNames checks that a unit of work looks up a bounded number of names.
func TestTriggersOfManyNames(t *testing.T) {
	t.Parallel()
	b := newBusyTriggers(t)
	const calls = 4
	names := make([]string, 2*batch.MaxWeight/calls)
	for i := range names {
		names[i] = fmt.Sprint("person", i)
	}
	for range calls {
		b.call(t, events.Options{LimitTo: names})
	}
	_, units := b.finish(calls)
	assert.Equal(t, 2, units)
}

// wrong is the clock of a machine that is so far ahead of the database server's.
type wrong time.Duration

func (w wrong) Now() time.Time { return time.Now().Add(time.Duration(w)) }

// TestTriggerUsesServerClock checks that the database server's clock decides whether send_at and
// expires_at have passed.
func TestTriggerUsesServerClock(t *testing.T) {
	t.Parallel()
	for _, clock := range []wrong{wrong(time.Hour), wrong(-time.Hour)} {
		t.Run(time.Duration(clock).String(), func(t *testing.T) {
			t.Parallel()
			store, err := gormstore.Open(t.Context(), gormstore.Config{URL: databases.Postgres(t), AutoMigrate: true, Clock: clock, ServerClock: true, Keys: seal.NewRing(keyA)})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, store.Close()) })
			apply(t, store, shop())
			triggers := app.NewTriggers(store, nil, clock, app.NewQuotas(clock, nil, 0))
			trigger := func(o events.Options) (events.Occurrence, error) {
				at := app.Path{Organization: "acme", Project: "shop", Application: "web"}
				done, _, err := triggers.Trigger(t.Context(), audit.Actor{}, at, "shipped", app.Trigger{Context: events.Context("{}"), Options: o})
				return done, err
			}
			soon, past := time.Now().Add(30*time.Minute), time.Now().Add(-30*time.Minute)
			later, err := trigger(events.Options{SendAt: soon, ExpiresAt: soon.Add(time.Minute)})
			require.NoError(t, err)
			assert.True(t, later.Scheduled)
			_, err = trigger(events.Options{ExpiresAt: soon})
			require.NoError(t, err)
			late, err := trigger(events.Options{SendAt: past})
			require.NoError(t, err)
			assert.False(t, late.Scheduled)
			_, err = trigger(events.Options{ExpiresAt: past})
			assert.ErrorContains(t, err, "has passed")
		})
	}
}
