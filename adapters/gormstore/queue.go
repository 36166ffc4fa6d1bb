package gormstore

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

var _ deliveries.Queue = queue{}

// queue is the work that is still to be done. It lives in the tables occurrences and deliveries and nowhere else.
type queue struct{ store *Store }

// Queue returns the work that is still to be done.
func (s *Store) Queue() deliveries.Queue { return queue{s} }

// work runs a unit of work on sets of rows that others want as well.
func (q queue) work(ctx context.Context, fn func(tx) error) error {
	return q.store.tell(func(news *bool) error {
		return q.store.engine.work(ctx, func(t tx) error { return fn(t.telling(news)) })
	})
}

// view runs fn on one consistent snapshot.
func (q queue) view(ctx context.Context, fn func(tx) error) error {
	return q.store.call(func() error { return q.store.engine.view(ctx, fn) })
}

func (q queue) Expand(ctx context.Context, limit int) (done deliveries.Expansion, err error) {
	err = q.work(ctx, func(t tx) error {
		done, err = expandNext(ctx, t, limit)
		return err
	})
	return done, err
}

func (q queue) Due(ctx context.Context) (due []deliveries.Due, err error) {
	type dueRow struct {
		ChannelID channels.ID
		NextAt    time.Time
	}
	err = q.view(ctx, func(t tx) error {
		// next_at is selected as the column that it is: of an expression, SQLite does not know that it is a time.
		due, err = all(t.db(ctx).Raw(busyChannels+"SELECT d.channel_id, d.next_at FROM busy JOIN deliveries d ON d.id = "+firstOpen),
			func(r dueRow) deliveries.Due { return deliveries.Due{Channel: r.ChannelID, At: r.NextAt} })
		return err
	})
	return due, err
}

func (q queue) Channel(ctx context.Context, id channels.ID) (c channels.Channel, err error) {
	err = q.view(ctx, func(t tx) error {
		c, err = decodeOne(t.db(ctx).Where("id = ?", id), channels.ErrNotFound, t.open)
		return err
	})
	return c, err
}

func (q queue) Letter(
	ctx context.Context, o events.OccurrenceID, n subscriptions.NotificationID, text events.TemplateID,
) (l deliveries.Letter, err error) {
	err = q.view(ctx, func(t tx) error {
		occurred, err := decodeOne(t.db(ctx).Where("id = ?", o), deliveries.ErrNotFound, occurrenceRow.occurrence)
		if err != nil {
			return err
		}
		l, err = deliveryRepo{t}.Letter(ctx, occurred, n, text)
		return err
	})
	return l, err
}

func (q queue) Woken() <-chan struct{} {
	q.store.bell.listen()
	return q.store.bell.rings
}
