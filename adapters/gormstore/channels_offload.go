package gormstore

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Offload first reads, and only writes if there is something to move.
func (q queue) Offload(
	ctx context.Context, org orgs.ID, from channels.ID, offers []channels.Offer, keep int, lease time.Duration,
) (transfers []channels.Transfer, err error) {
	ctx = withTimeoutClass(ctx, timeoutShort)
	err = q.view(ctx, func(t tx) error {
		transfers, err = t.transfers(ctx, org, from, offers, keep, lease)
		return err
	})
	if err != nil || len(transfers) == 0 {
		return nil, err
	}
	turn := q.store.turns.offloadTurn(from)
	next := turn
	err = q.work(ctx, func(t tx) error {
		free, err := t.lockOffers(ctx, offers)
		if err != nil {
			return err
		}
		if transfers, err = t.transfers(ctx, org, from, free, keep, lease); err != nil {
			return err
		}
		members, err := t.poolOf(ctx, org, from)
		if err != nil {
			return err
		}
		next, err = t.moveTransfers(ctx, diversion{from, members, channels.LimitReached}, transfers, turn)
		if transfers = slices.DeleteFunc(transfers, func(m channels.Transfer) bool { return m.Count == 0 }); len(transfers) > 0 {
			t.announce()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	q.store.turns.setOffloadTurn(from, next)
	return transfers, nil
}

// lockOffers locks the members of the offers until the unit ends, and returns the offers whose
// members it could lock. Otherwise two instances that find a member idle would both fill it.
func (t tx) lockOffers(ctx context.Context, offers []channels.Offer) ([]channels.Offer, error) {
	ids := mapped(offers, func(o channels.Offer) channels.ID { return o.To })
	locked, err := rowsOf[channels.ID](t.db(ctx).Raw("SELECT id FROM channels WHERE id @ids ORDER BY id"+t.dialect.skipLockedRows(),
		map[string]any{"ids": among(t.dialect, ids)}))
	return slices.DeleteFunc(slices.Clone(offers), func(o channels.Offer) bool { return !slices.Contains(locked, o.To) }), err
}

// transfers returns how many waiting deliveries of a channel each idle member of its pool takes
// over.
func (t tx) transfers(
	ctx context.Context, org orgs.ID, from channels.ID, offers []channels.Offer, keep int, lease time.Duration,
) ([]channels.Transfer, error) {
	most := keep
	for _, o := range offers {
		most += o.Limit()
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
		if !slices.ContainsFunc(members, func(m channels.Member) bool { return m.ID == o.To && m.ID != from && m.CanTakeOver(t.now()) }) {
			continue
		}
		w, err := t.waiting(ctx, o.To, events.Priorities())
		if err != nil {
			return nil, err
		}
		if w.any() {
			continue
		}
		var claimed int
		if o.Held, claimed, err = t.heldOf(ctx, o.To, lease); err != nil {
			return nil, err
		}
		if o, err = t.atRate(ctx, org, o, claimed); err != nil {
			return nil, err
		}
		idle = append(idle, o)
	}
	return channels.Transfers(idle, waiting, keep), nil
}

// maxHeldExamined is the maximum number of deliveries of a class, claimed or to be retried within a
// lease, that heldOf examines. A member with more is not idle.
const maxHeldExamined = 2_000

// heldOf returns how many deliveries of a member are held by workers: those that it took over from
// channels at their limit, and all.
func (t tx) heldOf(ctx context.Context, member channels.ID, lease time.Duration) (held, claimed int, err error) {
	for _, p := range events.Priorities() {
		var seen struct{ Held, Claimed, Total int }
		err := t.db(ctx).Raw(`SELECT COUNT(CASE WHEN state = @sending AND why = @limit THEN 1 END) AS held,
				COUNT(CASE WHEN state = @sending THEN 1 END) AS claimed, COUNT(*) AS total FROM (
				SELECT state, why FROM deliveries WHERE channel_id = @member AND priority = @priority AND `+claimedBefore("deliveries")+` AND next_at <= @until
				ORDER BY channel_id, priority, next_at, id LIMIT @most ) AS soon`,
			map[string]any{"sending": stateNumber(deliveries.Sending), "limit": int(channels.LimitReached), "member": member, "priority": p,
				"until": t.after(lease), "most": maxHeldExamined}).Scan(&seen).Error
		if err != nil {
			return 0, 0, err
		}
		if seen.Total == maxHeldExamined {
			return math.MaxInt32, 0, nil
		}
		held, claimed = held+seen.Held, claimed+seen.Claimed
	}
	return held, claimed, nil
}

// atRate reduces an offer to what the rate of the member allows soon, beside what workers hold. A
// member whose rate cannot be decrypted gets none.
func (t tx) atRate(ctx context.Context, org orgs.ID, o channels.Offer, claimed int) (channels.Offer, error) {
	row, err := one[channelRow](t.db(ctx).Where("organization_id = ? AND id = ?", org, o.To), channels.ErrNotFound)
	if err != nil {
		return o, err
	}
	c, err := t.open(row)
	if errors.Is(err, channels.ErrSealed) {
		o.Capacity, o.Grown = 0, 0
		return o, nil
	}
	rate := channels.Rate(c.Settings.Limits().PerSecond)
	if err != nil || rate <= 0 {
		return o, err
	}
	last, err := rowsOf[rateRow](t.db(ctx).Where("channel_id = ?", o.To))
	if err != nil {
		return o, err
	}
	var taken time.Time // zero: no slot yet
	if len(last) > 0 {
		taken = orZero(last[0].LastAt)
	}
	ahead, err := t.skew(ctx)
	return o.AtRate(rate, claimed, taken, t.now().Add(-ahead)), err
}

// moveTransfers moves a channel's next deliveries, in the order of docs/delivery.md, and returns
// the turn after them. It stores their number in the transfers, because others may have locked
// some. Deliveries of another pool return to the channels of their assignments.
func (t tx) moveTransfers(ctx context.Context, d diversion, transfers []channels.Transfer, turn deliveries.RoundRobin) (deliveries.RoundRobin, error) {
	w, err := t.waiting(ctx, d.from, events.Priorities())
	if err != nil {
		return turn, err
	}
	clear(w.claimedBefore) // Deliveries with an attempt stay: the cause may be the recipient.
	at := positionsAt(w, t.now(), 0)
	for i, move := range transfers {
		var found []dueDelivery
		if found, turn, err = t.lockDue(ctx, d.from, maps.Clone(at), move.Count, turn); err != nil {
			return turn, err
		}
		transfers[i].Count = 0
		own, others, err := t.byPool(ctx, d, found)
		if err != nil {
			return turn, err
		}
		if transfers[i].Count, err = t.moveDue(ctx, d, move.To, own); err != nil {
			return turn, err
		}
		for to, some := range others {
			if _, err := t.moveDue(ctx, d, to, some); err != nil {
				return turn, err
			}
		}
	}
	return turn, nil
}

// byPool returns those of the deliveries that a member of the pool may take over, and the others by
// the channels of their assignments to which they return.
func (t tx) byPool(ctx context.Context, d diversion, found []dueDelivery) (own []dueDelivery, others map[channels.ID][]dueDelivery, err error) {
	others = map[channels.ID][]dueDelivery{}
	for _, due := range found {
		if d.foreign(due.named) {
			others[due.named] = append(others[due.named], due)
		} else {
			own = append(own, due)
		}
	}
	if len(others) == 0 {
		return own, nil, nil
	}
	back, err := rowsOf[channels.ID](t.db(ctx).Raw("SELECT own.id FROM channels own WHERE own.id @ids AND "+takesBack("own", "@from "),
		map[string]any{"ids": among(t.dialect, slices.Sorted(maps.Keys(others))), "from": d.from}))
	maps.DeleteFunc(others, func(id channels.ID, _ []dueDelivery) bool { return !slices.Contains(back, id) })
	if len(others) > 0 {
		t.announce()
	}
	return own, others, err
}

// moveDue moves locked deliveries, sorted by class, to another channel.
func (t tx) moveDue(ctx context.Context, d diversion, to channels.ID, found []dueDelivery) (moved int, err error) {
	for len(found) > 0 {
		class := found[0].class
		end := slices.IndexFunc(found, func(due dueDelivery) bool { return due.class != class })
		if end < 0 {
			end = len(found)
		}
		ids := mapped(found[:end], func(due dueDelivery) deliveries.ID { return due.id })
		found = found[end:]
		by, err := t.turnOffset(ctx, d.from, to, class)
		if err != nil {
			return moved, err
		}
		n, err := t.moveByID(ctx, to, d.why, by, ids)
		if moved += n; err != nil {
			return moved, err
		}
	}
	return moved, nil
}
