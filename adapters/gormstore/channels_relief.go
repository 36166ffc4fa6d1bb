package gormstore

import (
	"context"
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Relieve looks first, and begins to write where there is something to move.
func (q queue) Relieve(
	ctx context.Context, org orgs.ID, from channels.ID, offers []channels.Offer, keep int,
) (gifts []channels.Gift, err error) {
	ctx = paced(ctx, paceBrief)
	err = q.view(ctx, func(t tx) error {
		gifts, err = t.gifts(ctx, org, from, offers, keep)
		return err
	})
	if err != nil || len(gifts) == 0 {
		return nil, err
	}
	turn := q.store.turns.giftsOf(from)
	next := turn
	err = q.work(ctx, func(t tx) error {
		if gifts, err = t.gifts(ctx, org, from, offers, keep); err != nil {
			return err
		}
		next, err = t.give(ctx, from, gifts, turn)
		if gifts = slices.DeleteFunc(gifts, func(g channels.Gift) bool { return g.Count == 0 }); len(gifts) > 0 {
			t.announce()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	q.store.turns.gave(from, next)
	return gifts, nil
}

// gifts is what the members of a pool take over that may have something of what waits for one of
// them, and are idle.
func (t tx) gifts(ctx context.Context, org orgs.ID, from channels.ID, offers []channels.Offer, keep int) ([]channels.Gift, error) {
	most := keep
	for _, o := range offers {
		most += o.Room
	}
	var waiting int
	err := t.db(ctx).Raw(`SELECT COUNT(*) FROM (SELECT id FROM deliveries WHERE channel_id = ? AND turn IS NOT NULL
		ORDER BY channel_id, priority, project_id, turn, id LIMIT ?) AS newest`, from, most).Scan(&waiting).Error
	if err != nil || waiting <= keep {
		return nil, err
	}
	members, err := t.poolOf(ctx, org, from)
	if err != nil {
		return nil, err
	}
	var idle []channels.Offer
	for _, o := range offers {
		if !slices.ContainsFunc(members, func(m channels.Member) bool { return m.ID == o.To && m.ID != from && m.Able(t.now()) }) {
			continue
		}
		w, err := t.waiting(ctx, o.To, events.Priorities())
		if err != nil {
			return nil, err
		}
		if !w.any() {
			idle = append(idle, o)
		}
	}
	return channels.Gifts(idle, waiting, keep), nil
}

// give moves what goes next on a channel, by the rule of docs/delivery.md, and returns the turn
// after that. It notes in the gifts how many they were: others may hold some of them.
func (t tx) give(ctx context.Context, from channels.ID, gifts []channels.Gift, turn deliveries.Turn) (deliveries.Turn, error) {
	w, err := t.waiting(ctx, from, events.Priorities())
	if err != nil {
		return turn, err
	}
	clear(w.returned) // What was tried before stays: it may be about the recipient.
	at := seenAt(w, t.now(), 0)
	for i, g := range gifts {
		var found []dueDelivery
		if found, turn, err = t.dueOfAll(ctx, from, maps.Clone(at), g.Count, turn); err != nil {
			return turn, err
		}
		gifts[i].Count = 0
		for len(found) > 0 {
			class := found[0].class
			end := slices.IndexFunc(found, func(d dueDelivery) bool { return d.class != class })
			if end < 0 {
				end = len(found)
			}
			ids := mapped(found[:end], func(d dueDelivery) deliveries.ID { return d.id })
			found = found[end:]
			by, err := t.ahead(ctx, from, g.To, class)
			if err != nil {
				return turn, err
			}
			to := []providerRow{{Through: from, Provider: g.To, End: channels.Numbers, Why: int(channels.AtItsLimit), Shift: by}}
			n, err := t.moveThese(ctx, to, ids)
			if gifts[i].Count += n; err != nil {
				return turn, err
			}
		}
	}
	return turn, nil
}
