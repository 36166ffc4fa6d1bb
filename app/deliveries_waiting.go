package app

import (
	"context"
	"fmt"
	"math"
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

// waitsForLookup returns what an occurrence waits for whose recipients are being looked up. While
// the installation is read-only, none are.
func waitsForLookup(ctx context.Context, tx ports.Tx) (ChannelWait, error) {
	w := deliveries.Waiting{For: deliveries.ForLookup}
	state, err := tx.Installation().State(ctx)
	if !state.ReadOnly.IsZero() {
		w = w.Stopped()
	}
	return ChannelWait{Waiting: w}, err
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
	untried bool // whether one of them has a place in the order: those tried before have none
}

// blocks reports whether nothing is sent until something else has changed, so that the present
// rate does not predict the end.
func (w ChannelWait) blocks() bool {
	return w.For == deliveries.ForRelease || w.For == deliveries.ForQuota || w.For == deliveries.ForChannel || w.For == deliveries.ForLimit && !w.Until.IsZero()
}

// waitsRead is how many of the first deliveries in each state are read to find out what an
// occurrence waits for, and how many of the last.
const waitsRead = 100

// waitsOf returns what deliveries wait for, each cause of each channel once: with the earliest time
// at which it ends.
func waitsOf(ds []deliveries.Delivery) (waits []ChannelWait) {
	for _, d := range ds {
		if d.Waiting.For == "" {
			continue
		}
		i := slices.IndexFunc(waits, func(w ChannelWait) bool {
			return w.Channel == d.Channel && w.For == d.Waiting.For && w.Others == d.Waiting.Others
		})
		switch {
		case i < 0:
			i = len(waits)
			waits = append(waits, ChannelWait{Waiting: d.Waiting, Channel: d.Channel, channel: d.ChannelID})
		case d.Waiting.Until.Before(waits[i].Until):
			waits[i].Until = d.Waiting.Until
		}
		waits[i].untried = waits[i].untried || d.State == deliveries.Pending
	}
	return waits
}

// mostPerSecond returns how many messages may leave in a second through the channels of open
// deliveries: after a quiet time, the first messages leave faster. It returns +Inf unless each of
// these channels is known to have a limit.
func mostPerSecond(waits []ChannelWait) float64 {
	limits := map[channels.ID]float64{}
	for _, w := range waits {
		limits[w.channel] = max(limits[w.channel], w.PerSecond)
	}
	sum := 0.0
	for _, limit := range limits {
		if limit == 0 {
			return math.Inf(1)
		}
		sum += limit
	}
	if sum == 0 {
		return math.Inf(1)
	}
	return sum
}

// nextAttempts returns the latest time before which one of these deliveries is not tried; zero:
// none.
func nextAttempts(ds []deliveries.Delivery) (latest time.Time) {
	for _, d := range ds {
		if d.Waiting.Until.After(latest) {
			latest = d.Waiting.Until
		}
	}
	return latest
}

// AheadText returns how many messages go before the next one; empty when none waits for its turn.
func (w ChannelWait) AheadText() string {
	switch {
	case w.Ahead == nil:
		return ""
	case *w.Ahead == 0:
		return "it goes next"
	case *w.Ahead == 1:
		return "1 message goes before it"
	case *w.Ahead >= deliveries.MaxAheadCounted:
		return fmt.Sprintf("%d or more messages go before it", deliveries.MaxAheadCounted)
	}
	return fmt.Sprintf("%d messages go before it", *w.Ahead)
}
