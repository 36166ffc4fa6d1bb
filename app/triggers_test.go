package app_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

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

// TestTriggerCountsRecipients checks that the recipients of four triggers of one unit of work are
// counted, and those of five are not.
func TestTriggerCountsRecipients(t *testing.T) {
	t.Parallel()
	for n, counted := range map[int]bool{4: true, 5: false} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			const calls = 10
			store := gatedStore{visibleSettings(t, databases.SQLite(t), seal.NewRing(keyA)), make(chan struct{}, calls), make(chan struct{})}
			apply(t, store.Store, shop())
			triggers := app.NewTriggers(store, nil, frozen{}, app.NewQuotas(frozen{}, nil, 0))
			recipients := make(chan *int, calls)
			call := func() {
				waiting := waitingContext{t.Context(), make(chan struct{}, calls)}
				go func() {
					at := app.Path{Organization: "acme", Project: "shop", Application: "web"}
					o, _, err := triggers.Trigger(waiting, audit.Actor{}, at, "shipped", app.Trigger{Context: events.Context("{}")})
					assert.NoError(t, err)
					recipients <- o.Recipients
				}()
				<-waiting.waits
			}
			for range batch.Pair { // They run until the gate opens,
				call()
				<-store.begun
			}
			for range n { // and these wait.
				call()
			}
			close(store.gate)
			left := 0
			for range int(batch.Pair) + n {
				if r := <-recipients; r == nil {
					left++
				} else {
					assert.Zero(t, *r)
				}
			}
			assert.Equal(t, map[bool]int{true: 0, false: n}[counted], left)
		})
	}
}
