package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

const (
	// stateLifetime is how long the state of the installation is cached. A change is in effect
	// on all instances after that.
	stateLifetime = time.Second
	// statePatience is how long a read of the state may take.
	statePatience = 5 * time.Second
)

// StateCache caches the state of the installation. It is safe for concurrent use.
type StateCache struct {
	store   ports.Store
	clock   ports.Clock
	reading singleflight.Group

	mu    sync.Mutex
	known bool
	state installation.State
	read  time.Time // when the read began
}

// NewStateCache returns a cache of the state in a store.
func NewStateCache(store ports.Store, clock ports.Clock) *StateCache {
	return &StateCache{store: store, clock: clock}
}

// State returns the state, at most a second old.
func (c *StateCache) State(ctx context.Context) (installation.State, error) {
	c.mu.Lock()
	if age := c.clock.Now().Sub(c.read); c.known && age >= 0 && age < stateLifetime {
		defer c.mu.Unlock()
		return c.state, nil
	}
	c.mu.Unlock()
	answer := c.reading.DoChan("", func() (any, error) { return c.ask(context.WithoutCancel(ctx)) })
	select {
	case a := <-answer:
		state, _ := a.Val.(installation.State)
		return state, a.Err
	case <-ctx.Done():
		return installation.State{}, ctx.Err()
	}
}

// ask reads the state.
func (c *StateCache) ask(ctx context.Context) (state installation.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, statePatience)
	defer cancel()
	began := c.clock.Now()
	err = c.store.View(ctx, func(tx ports.Tx) error {
		state, err = tx.Installation().State(ctx)
		return err
	})
	if err == nil {
		c.keep(state, began)
	}
	return state, err
}

func (c *StateCache) keep(state installation.State, read time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.state, c.read = true, state, read
}

// Known returns the state that was read last, without reading it again. It is the zero State before
// the first read.
func (c *StateCache) Known() installation.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Paused reports whether sending is stopped, by the last known state.
func (c *StateCache) Paused() bool { return !c.Known().Sends() }

// writable returns why the installation takes no changes; nil if it does.
func (c *StateCache) writable(ctx context.Context) error {
	state, err := c.State(ctx)
	return errors.Join(err, state.Writable())
}
