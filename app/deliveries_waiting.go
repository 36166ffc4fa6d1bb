package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// setWaiting adds to each open delivery what it waits for.
func setWaiting(ctx context.Context, tx ports.Tx, org orgs.ID, now time.Time, ds []*deliveries.Delivery) error {
	var ids []channels.ID
	for _, d := range ds {
		if d.State.Open() && !slices.Contains(ids, d.ChannelID) {
			ids = append(ids, d.ChannelID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := tx.Channels().Conditions(ctx, org, ids)
	if err != nil {
		return err
	}
	state, err := tx.Installation().State(ctx)
	if err != nil {
		return err
	}
	for _, d := range ds {
		d.Waiting = d.WaitsFor(found[d.ChannelID], now)
		if !state.Sends() {
			d.Waiting = d.Waiting.Stopped()
		}
	}
	return nil
}

// pointers returns pointers to the deliveries of a list.
func pointers(ds []deliveries.Delivery) []*deliveries.Delivery {
	all := make([]*deliveries.Delivery, len(ds))
	for i := range ds {
		all[i] = &ds[i]
	}
	return all
}

// ChannelWait is why open deliveries of an occurrence wait on a channel.
type ChannelWait struct {
	deliveries.Waiting

	Channel string // by name; empty: the occurrence itself waits
	// Ahead is how many messages go before the next one there, deliveries.MaxAheadCounted for that
	// many or more. Nil: no message waits for its turn.
	Ahead *int

	channel channels.ID
}

// blocks reports whether nothing is sent until something else has changed, so that the rate so far
// does not predict the end.
func (h ChannelWait) blocks() bool {
	return h.For == deliveries.ForRelease || h.For == deliveries.ForQuota || h.For == deliveries.ForChannel || h.For == deliveries.ForLimit && !h.Until.IsZero()
}

// waitsRead is how many deliveries in each state are read to find out what an occurrence waits for.
const waitsRead = 100

// waitsOf returns what deliveries wait for, each cause of each channel once: with the earliest time
// at which it ends.
func waitsOf(ds []deliveries.Delivery) (holds []ChannelWait) {
	for _, d := range ds {
		if d.Waiting.For == "" {
			continue
		}
		i := slices.IndexFunc(holds, func(h ChannelWait) bool { return h.Channel == d.Channel && h.For == d.Waiting.For })
		switch {
		case i < 0:
			holds = append(holds, ChannelWait{Waiting: d.Waiting, Channel: d.Channel, channel: d.ChannelID})
		case d.Waiting.Until.Before(holds[i].Until):
			holds[i].Until = d.Waiting.Until
		}
	}
	return holds
}

// AheadText returns how many messages go before the next one; empty when none waits for its turn.
func (h ChannelWait) AheadText() string {
	switch {
	case h.Ahead == nil:
		return ""
	case *h.Ahead == 0:
		return "it goes next"
	case *h.Ahead == 1:
		return "1 message goes before it"
	case *h.Ahead >= deliveries.MaxAheadCounted:
		return fmt.Sprintf("%d or more messages go before it", deliveries.MaxAheadCounted)
	}
	return fmt.Sprintf("%d messages go before it", *h.Ahead)
}
