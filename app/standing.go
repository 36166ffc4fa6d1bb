package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

const (
	// standingLifetime is how long the state of the installation is cached. A change is in effect
	// on all instances after that.
	standingLifetime = time.Second
	// standingPatience is how long a read of the state may take.
	standingPatience = 5 * time.Second
)

// Standing caches the state of the installation. It is safe for concurrent use.
type Standing struct {
	store   ports.Store
	clock   ports.Clock
	reading singleflight.Group

	mu    sync.Mutex
	known bool
	state installation.State
	read  time.Time // when the read began
}

// NewStanding returns a cache of the state in a store.
func NewStanding(store ports.Store, clock ports.Clock) *Standing {
	return &Standing{store: store, clock: clock}
}

// State returns the state, at most a second old.
func (s *Standing) State(ctx context.Context) (installation.State, error) {
	s.mu.Lock()
	if age := s.clock.Now().Sub(s.read); s.known && age >= 0 && age < standingLifetime {
		defer s.mu.Unlock()
		return s.state, nil
	}
	s.mu.Unlock()
	answer := s.reading.DoChan("", func() (any, error) { return s.ask(context.WithoutCancel(ctx)) })
	select {
	case a := <-answer:
		state, _ := a.Val.(installation.State)
		return state, a.Err
	case <-ctx.Done():
		return installation.State{}, ctx.Err()
	}
}

// ask reads the state.
func (s *Standing) ask(ctx context.Context) (state installation.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, standingPatience)
	defer cancel()
	began := s.clock.Now()
	err = s.store.View(ctx, func(tx ports.Tx) error {
		state, err = tx.Installation().State(ctx)
		return err
	})
	if err == nil {
		s.keep(state, began)
	}
	return state, err
}

func (s *Standing) keep(state installation.State, read time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.state, s.read = true, state, read
}

// Known returns the state that was read last, without reading it again. It is the zero State before
// the first read.
func (s *Standing) Known() installation.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Paused reports whether sending is stopped, by the last known state.
func (s *Standing) Paused() bool { return !s.Known().Sends() }

// Guard is a store that enforces the state of the installation: while that is read-only it refuses
// all changes, and while sending is stopped its queue is empty. Work that has begun is finished:
// outcomes are recorded, and leases renewed. Workers send heartbeats in any state.
type Guard struct {
	ports.Store

	standing *Standing
}

// NewGuard returns a store that enforces the state.
func NewGuard(store ports.Store, standing *Standing) *Guard {
	return &Guard{Store: store, standing: standing}
}

// Update runs fn as a unit of work; installation.ErrReadOnly.
func (g *Guard) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if _, within := ports.Unit(ctx); !within {
		if err := g.standing.writable(ctx); err != nil {
			return err
		}
	}
	return g.Store.Update(ctx, fn)
}

func (s *Standing) writable(ctx context.Context) error {
	state, err := s.State(ctx)
	return errors.Join(err, state.Writable())
}

// Queue returns the work that is still to be done.
func (g *Guard) Queue() deliveries.Queue { return guardedQueue{g.Store.Queue(), g.standing} }
