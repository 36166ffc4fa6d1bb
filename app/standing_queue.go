package app

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/installation"
)

// guardedQueue is a queue that enforces the state of the installation. While work is stopped, it
// looks empty to a worker.
type guardedQueue struct {
	deliveries.Queue

	standing *Standing
}

// Expand writes the deliveries of further recipients, unless the installation is read-only.
func (q guardedQueue) Expand(ctx context.Context, limit int) (deliveries.Expansion, error) {
	if err := q.standing.writable(ctx); err != nil {
		return deliveries.Expansion{}, quiet(err, deliveries.ErrNothingToDo)
	}
	return q.Queue.Expand(ctx, limit)
}

// Schedule does the scheduled work that is due, unless the installation is read-only.
func (q guardedQueue) Schedule(ctx context.Context, limit int) (int, error) {
	if err := q.standing.writable(ctx); err != nil {
		return 0, quiet(err, nil)
	}
	return q.Queue.Schedule(ctx, limit)
}

// Purge deletes some old rows, unless the installation is read-only.
func (q guardedQueue) Purge(ctx context.Context, old deliveries.Expiry, limit int) (int, error) {
	if err := q.standing.writable(ctx); err != nil {
		return 0, quiet(err, nil)
	}
	return q.Queue.Purge(ctx, old, limit)
}

// Due returns the channels with open deliveries; none while sending is stopped.
func (q guardedQueue) Due(ctx context.Context) ([]deliveries.Due, error) {
	if state, err := q.standing.State(ctx); err != nil || !state.Sends() {
		return nil, err
	}
	return q.Queue.Due(ctx)
}

// Claim takes due deliveries; none while sending is stopped.
func (q guardedQueue) Claim(ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration) ([]deliveries.Job, error) {
	if state, err := q.standing.State(ctx); err != nil || !state.Sends() {
		return nil, err
	}
	return q.Queue.Claim(ctx, channel, owner, limit, lease)
}

// quiet replaces an error by instead if the installation is read-only.
func quiet(err, instead error) error {
	if errors.Is(err, installation.ErrReadOnly) {
		return instead
	}
	return err
}
