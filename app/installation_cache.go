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
	// stateRenewal is the age from which a use renews the cache in the background, so that no
	// call waits for it.
	stateRenewal = stateLifetime / 2
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
	// generation grows when this instance changes the state. A state whose read began in an earlier
	// generation is not kept.
	generation int
}

// NewStateCache returns a cache of the state in a store.
func NewStateCache(store ports.Store, clock ports.Clock) *StateCache {
	return &StateCache{store: store, clock: clock}
}

// State returns the state, at most a second old.
func (c *StateCache) State(ctx context.Context) (installation.State, error) {
	c.mu.Lock()
	state, age := c.state, c.clock.Now().Sub(c.read)
	current := c.known && age >= 0 && age < stateLifetime
	c.mu.Unlock()
	if current && age < stateRenewal {
		return state, nil
	}
	answer := c.reading.DoChan("", func() (any, error) { return c.ask(context.WithoutCancel(ctx)) })
	if current {
		return state, nil
	}
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
	c.mu.Lock()
	generation := c.generation
	c.mu.Unlock()
	began := c.clock.Now()
	state, err = ports.View(ctx, c.store, func(tx ports.Tx) (installation.State, error) {
		return tx.Installation().State(ctx)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && generation == c.generation { // Otherwise it may have been read before the change.
		c.known, c.state, c.read = true, state, began
	}
	return state, err
}

// changed keeps a state that this instance has just stored.
func (c *StateCache) changed(state installation.State, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.state, c.read = true, state, at
	c.generation++
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
