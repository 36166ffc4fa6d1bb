package gormstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

var _ deliveries.Queue = queue{}

// queue is the queue of occurrences and deliveries. Their tables are its only storage.
type queue struct{ store *Store }

// Queue returns the queue of the pending work.
func (s *Store) Queue() deliveries.Queue { return queue{s} }

// work runs a unit of work on rows that other workers also process.
func (q queue) work(ctx context.Context, fn func(tx) error) error {
	return q.unit(ctx, q.store.engine.work, q.store.notifier.notify, fn)
}

// workSmall is work of small units (see ports.Small).
func (q queue) workSmall(ctx context.Context, fn func(tx) error) error {
	return q.work(ports.Small(ctx), fn)
}

// workAsync runs a unit of work that is repeated when it is lost. It notifies only other instances
// of the work that it adds, because its caller knows of it.
func (q queue) workAsync(ctx context.Context, fn func(tx) error) error {
	return q.unit(ctx, q.store.engine.workAsync, q.store.notifier.notifyRemote, fn)
}

func (q queue) unit(ctx context.Context, run func(context.Context, func(tx) error) error, notify func(), fn func(tx) error) error {
	return q.store.unit(ctx, "work", func(ctx context.Context) error {
		return q.store.announce(notify, func(added *bool) error {
			return run(ctx, func(t tx) error { return fn(q.store.withQualities(t.announcing(added))) })
		})
	})
}

// view runs fn on one consistent snapshot.
func (q queue) view(ctx context.Context, fn func(tx) error) error {
	return q.store.unit(ctx, "view", func(ctx context.Context) error {
		return q.store.call(func() error {
			return q.store.engine.view(ctx, func(t tx) error { return fn(q.store.withQualities(t)) })
		})
	})
}

// ExpansionParts returns small and large occurrences on Postgres. SQLite has one writer: there a
// small occurrence would wait for a page of a large one anyway.
func (q queue) ExpansionParts() []deliveries.ExpansionPart {
	if q.store.engine.dialect() == onPostgres {
		return []deliveries.ExpansionPart{deliveries.SmallOccurrences, deliveries.LargeOccurrences}
	}
	return []deliveries.ExpansionPart{deliveries.AllOccurrences}
}

func (q queue) Expand(ctx context.Context, part deliveries.ExpansionPart, limit int) (done deliveries.Expansion, err error) {
	turns := q.store.turns
	turn := turns.nextExpansion(part, limit)
	for {
		turn.found = foundExpansion{}
		err = q.workAsync(ctx, func(t tx) error {
			done, err = q.expandNext(ctx, t, &turn)
			return err
		})
		if err == nil && turn.found.unresolved != nil {
			if err = q.resolveNames(ctx, *turn.found.unresolved); err == nil {
				continue
			}
		}
		switch {
		case err == nil:
			turns.expanded(turn)
			if done.Completed > 0 {
				q.store.names.remove(done.Occurrence)
			}
			return done, nil
		case errors.Is(err, deliveries.ErrNothingToDo) && len(turn.postponed) > 0:
			turn.postponed = nil // Nothing else waits.
		case ctx.Err() != nil || !turns.failed(&turn):
			o := turn.found.first.ID
			if o != 0 {
				err = fmt.Errorf("occurrence %d: %w", o, err)
			}
			return deliveries.Expansion{Occurrence: o}, err
		}
	}
}

func (q queue) Due(ctx context.Context) (due []deliveries.Due, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	type dueRow struct {
		OrganizationID *orgs.ID
		ChannelID      channels.ID
		Priority       events.Priority
		NextAt         time.Time
	}
	err = q.view(ctx, func(t tx) error {
		ahead, err := t.skew(ctx)
		if err != nil {
			return err
		}
		known := q.store.turns.allPositions(t.now())
		// next_at is selected as a plain column: SQLite does not know that an expression is a time.
		rows, err := rowsOf[dueRow](t.db(ctx).Raw(busyChannels(slices.Collect(maps.Keys(known))...) + heads + ` SELECT c.organization_id, d.channel_id, d.priority, d.next_at
			FROM ` + t.dialect.headDeliveries() + ` LEFT JOIN channels c ON c.id = d.channel_id ORDER BY d.channel_id, d.next_at`))
		if err != nil {
			return err
		}
		due = nil
		for _, r := range rows {
			if n := len(due); n == 0 || due[n-1].Channel != r.ChannelID {
				due = append(due, deliveries.Due{Organization: orZero(r.OrganizationID), Channel: r.ChannelID, At: r.NextAt.Add(ahead),
					Priority: r.Priority})
			} else if !r.NextAt.Add(ahead).After(t.now()) {
				due[n-1].Priority = min(due[n-1].Priority, r.Priority)
			}
		}
		more, err := t.dueAtPositions(ctx, known)
		due = append(due, more...)
		return err
	})
	return due, err
}

// dueAtPositions returns what is due on the channels with remembered positions. More deliveries
// wait there, and a search from the beginning would take long. It searches only classes without a
// position.
func (t tx) dueAtPositions(ctx context.Context, known map[channels.ID]claimPositions) (due []deliveries.Due, err error) {
	if len(known) == 0 {
		return nil, nil
	}
	owners, err := rowsOf[channelOwner](t.db(ctx).Raw("SELECT id, organization_id FROM channels WHERE id ?", among(t.dialect, slices.Collect(maps.Keys(known)))))
	if err != nil {
		return nil, err
	}
	for _, c := range owners {
		at := known[c.ID]
		w, err := t.waiting(ctx, c.ID, slices.DeleteFunc(events.Priorities(), func(p events.Priority) bool { _, is := at[p]; return is }))
		if err != nil {
			return nil, err
		}
		first := slices.IndexFunc(events.Priorities(), func(p events.Priority) bool { return at.has(p) || w.has(p) })
		if first >= 0 {
			due = append(due, deliveries.Due{Organization: c.OrganizationID, Channel: c.ID, At: t.now(), Priority: events.Priorities()[first]})
		}
	}
	return due, nil
}

// channelOwner is a channel with its organization.
type channelOwner struct {
	ID             channels.ID
	OrganizationID orgs.ID
}

func (q queue) Channel(ctx context.Context, id channels.ID) (c channels.Channel, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.view(ctx, func(t tx) error {
		row, err := one[channelRow](t.db(ctx).Where("id = ?", id), channels.ErrNotFound)
		if err != nil {
			return err
		}
		var sealed error
		if c, sealed = t.open(row); errors.Is(sealed, channels.ErrSealed) {
			c = row.channel()
		} else if sealed != nil {
			return sealed
		}
		paused, err := rowsOf[pauseRow](t.db(ctx).Raw("SELECT until_at FROM channel_troubles WHERE channel_id = ? AND for_all AND until_at > ?", id, t.clock()))
		if err != nil || len(paused) == 0 {
			return cmp.Or(err, sealed)
		}
		ahead, err := t.skewSeconds(ctx)
		for _, p := range paused {
			if until := p.UntilAt.Add(ahead).UTC(); until.After(c.Paused) {
				c.Paused = until
			}
		}
		return cmp.Or(err, sealed)
	})
	return c, err
}

func (q queue) Occurrences(ctx context.Context, ids []events.OccurrenceID) (found []events.Occurrence, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.view(ctx, func(t tx) error {
		found, err = decodeAll(t.db(ctx).Where("id ?", among(t.dialect, ids)), occurrenceRow.occurrence)
		return err
	})
	return found, err
}

func (q queue) RenderInput(
	ctx context.Context, o events.Occurrence, n subscriptions.NotificationID, text events.TemplateID,
) (in deliveries.RenderInput, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.view(ctx, func(t tx) error {
		in, err = deliveryRepo{t}.RenderInput(ctx, o, n, text)
		return err
	})
	return in, err
}

func (q queue) NewWork() <-chan struct{} {
	q.store.notifier.listen()
	return q.store.notifier.local
}
