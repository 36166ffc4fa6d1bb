package app

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/installation"
)

// guardedQueue is a queue that heeds the state of the installation. To a worker it then looks as if
// there were nothing to do.
type guardedQueue struct {
	deliveries.Queue

	standing *Standing
}

// Expand writes the deliveries of further recipients, unless nothing may be changed.
func (q guardedQueue) Expand(ctx context.Context, limit int) (deliveries.Expansion, error) {
	if err := q.standing.writable(ctx); err != nil {
		return deliveries.Expansion{}, quiet(err, deliveries.ErrNothingToDo)
	}
	return q.Queue.Expand(ctx, limit)
}

// Schedule does what the time has come for, unless nothing may be changed.
func (q guardedQueue) Schedule(ctx context.Context, limit int) (int, error) {
	if err := q.standing.writable(ctx); err != nil {
		return 0, quiet(err, nil)
	}
	return q.Queue.Schedule(ctx, limit)
}

// Purge deletes some of what is old, unless nothing may be changed.
func (q guardedQueue) Purge(ctx context.Context, old deliveries.Expiry, limit int) (int, error) {
	if err := q.standing.writable(ctx); err != nil {
		return 0, quiet(err, nil)
	}
	return q.Queue.Purge(ctx, old, limit)
}

// Due returns the channels with open deliveries: none, while nothing may be sent.
func (q guardedQueue) Due(ctx context.Context) ([]deliveries.Due, error) {
	if state, err := q.standing.State(ctx); err != nil || !state.Sends() {
		return nil, err
	}
	return q.Queue.Due(ctx)
}

// Claim takes deliveries that are due: none, while nothing may be sent.
func (q guardedQueue) Claim(ctx context.Context, channel channels.ID, owner string, limit int, lease time.Duration) ([]deliveries.Job, error) {
	if state, err := q.standing.State(ctx); err != nil || !state.Sends() {
		return nil, err
	}
	return q.Queue.Claim(ctx, channel, owner, limit, lease)
}

// quiet is the error of something that is not done: instead, where that is because nothing may be
// changed.
func quiet(err, instead error) error {
	if errors.Is(err, installation.ErrReadOnly) {
		return instead
	}
	return err
}
