package app

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Guard is a store that enforces the state of the installation: while that is read-only it refuses
// all changes, and while sending is stopped its queue is empty. Work that has begun is finished:
// outcomes are recorded, and leases renewed. Workers send heartbeats in any state.
type Guard struct {
	ports.Store

	state *StateCache
}

// NewGuard returns a store that enforces the state.
func NewGuard(store ports.Store, state *StateCache) *Guard {
	return &Guard{Store: store, state: state}
}

// Update runs fn as a unit of work; installation.ErrReadOnly. A unit that has waited for its turn
// checks the state again when it begins, so that it begins at most two lifetimes of the cached
// state after the installation became read-only.
func (g *Guard) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if _, within := ports.Unit(ctx); within {
		return g.Store.Update(ctx, fn)
	}
	asked := g.state.clock.Now()
	if err := g.state.writable(ctx); err != nil {
		return err
	}
	return g.Store.Update(ctx, func(tx ports.Tx) error {
		if g.state.clock.Now().Sub(asked) >= stateLifetime {
			state, err := tx.Installation().State(ctx)
			if err := errors.Join(err, state.Writable()); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// Queue returns the work that is still to be done.
func (g *Guard) Queue() deliveries.Queue { return guardedQueue{g.Store.Queue(), g.state} }

// guardedQueue is a queue that enforces the state of the installation. While work is stopped, it
// looks empty to a worker.
type guardedQueue struct {
	deliveries.Queue

	state *StateCache
}

// Expand writes the deliveries of further recipients, unless the installation is read-only.
func (q guardedQueue) Expand(ctx context.Context, part deliveries.ExpansionPart, limit int) (deliveries.Expansion, error) {
	if err := q.state.writable(ctx); err != nil {
		return deliveries.Expansion{}, hideReadOnly(err, deliveries.ErrNothingToDo)
	}
	return q.Queue.Expand(ctx, part, limit)
}

// Schedule does the scheduled work that is due, unless the installation is read-only.
func (q guardedQueue) Schedule(ctx context.Context, limit int) (int, error) {
	if err := q.state.writable(ctx); err != nil {
		return 0, hideReadOnly(err, nil)
	}
	return q.Queue.Schedule(ctx, limit)
}

// Purge deletes some old rows, unless the installation is read-only.
func (q guardedQueue) Purge(ctx context.Context, old deliveries.Expiry, limit int) (int, error) {
	if err := q.state.writable(ctx); err != nil {
		return 0, hideReadOnly(err, nil)
	}
	return q.Queue.Purge(ctx, old, limit)
}

// Due returns the channels with open deliveries; none while sending is stopped.
func (q guardedQueue) Due(ctx context.Context) ([]deliveries.Due, error) {
	if state, err := q.state.State(ctx); err != nil || !state.Sends() {
		return nil, err
	}
	return q.Queue.Due(ctx)
}

// Claim takes due deliveries; none while sending is stopped.
func (q guardedQueue) Claim(ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration) ([]deliveries.Job, error) {
	if state, err := q.state.State(ctx); err != nil || !state.Sends() {
		return nil, err
	}
	return q.Queue.Claim(ctx, channel, owner, limit, lease)
}

// Divert moves deliveries of a paused channel, unless the installation is read-only.
func (q guardedQueue) Divert(ctx context.Context, org orgs.ID, from channels.ID, why channels.PoolReason, limit int) (int, error) {
	if err := q.state.writable(ctx); err != nil {
		return 0, hideReadOnly(err, nil)
	}
	return q.Queue.Divert(ctx, org, from, why, limit)
}

// Offload moves deliveries of a channel at its limit, unless the installation is read-only.
func (q guardedQueue) Offload(
	ctx context.Context, org orgs.ID, from channels.ID, offers []channels.Offer, keep int, lease time.Duration,
) ([]channels.Transfer, error) {
	if err := q.state.writable(ctx); err != nil {
		return nil, hideReadOnly(err, nil)
	}
	return q.Queue.Offload(ctx, org, from, offers, keep, lease)
}

// hideReadOnly replaces an error by instead if the installation is read-only.
func hideReadOnly(err, instead error) error {
	if errors.Is(err, installation.ErrReadOnly) {
		return instead
	}
	return err
}
