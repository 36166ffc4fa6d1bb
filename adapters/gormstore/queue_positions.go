package gormstore

import (
	"maps"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// While a session such as pg_dump holds a snapshot, Postgres cannot remove the index entries of
// claimed deliveries, and a search for the next deliveries reads all of them. So a claim that found
// as many deliveries as it wanted remembers its position, and the next one continues there. It does
// so only if several searches in a row were slow, which a busy machine alone does not cause. A
// position is valid for a multiple of the duration of the search. Then the next search finds
// deliveries that came with an earlier turn.
const (
	slowSearch     = 20 * time.Millisecond
	slowSearches   = 8  // in a row
	positionFactor = 20 // times the duration of the search
	maxPositionAge = 10 * time.Second
)

// claimPositions are the positions from which claims of a channel continue, by class.
type claimPositions map[events.Priority]claimPosition

// claimPosition is the position in a class of a channel.
type claimPosition struct {
	projects      []orgs.ProjectID
	claimedBefore bool
	since         time.Time                // the search
	until         time.Time                // when the position expires; not after since: it is not remembered
	turns         map[orgs.ProjectID]int64 // of the last delivery claimed of each project
	next          time.Time                // next_at of the last one claimed that had been claimed before
}

// positionsAt returns the positions found by a search at a time, valid for a duration.
func positionsAt(w waiting, at time.Time, kept time.Duration) claimPositions {
	seen := claimPositions{}
	for _, p := range events.Priorities() {
		seen[p] = claimPosition{projects: w.projects[p], claimedBefore: w.claimedBefore[p], since: at, until: at.Add(kept)}
	}
	return seen
}

// recordSearch records the duration of a search of a channel, and returns how long its result is
// valid.
func (t *turns) recordSearch(c channels.ID, took time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if took < slowSearch {
		delete(t.slow, c)
		return 0
	}
	t.slow[c] = min(t.slow[c]+1, slowSearches)
	if t.slow[c] < slowSearches {
		return 0
	}
	return min(positionFactor*took, maxPositionAge)
}

// has reports whether deliveries of a class are due.
func (at claimPositions) has(p events.Priority) bool {
	return at[p].claimedBefore || len(at[p].projects) > 0
}

// advance moves the positions past the claimed deliveries.
func (at claimPositions) advance(claimed []dueDelivery) {
	for p, f := range at {
		f.turns = maps.Clone(f.turns)
		if f.turns == nil {
			f.turns = map[orgs.ProjectID]int64{}
		}
		at[p] = f
	}
	for _, d := range claimed {
		f, kept := at[d.class.Priority]
		switch {
		case !kept:
		case d.turn != nil:
			f.turns[d.class.ProjectID] = *d.turn
		default:
			f.next = d.next.UTC()
			at[d.class.Priority] = f
		}
	}
}

// positionsOf returns the valid positions of a channel.
func (t *turns) positionsOf(c channels.ID, now time.Time) claimPositions {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.positions[c].validAt(now)
}

// allPositions returns the valid positions of all channels.
func (t *turns) allPositions(now time.Time) map[channels.ID]claimPositions {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[channels.ID]claimPositions{}
	for c, f := range t.positions {
		if f = f.validAt(now); len(f) > 0 {
			all[c] = f
		}
	}
	return all
}

// validAt returns the positions that are valid at a time.
func (at claimPositions) validAt(now time.Time) claimPositions {
	known := maps.Clone(at)
	maps.DeleteFunc(known, func(_ events.Priority, f claimPosition) bool { return now.Before(f.since) || !f.until.After(now) })
	return known
}

// setPositions stores the positions of a channel.
func (t *turns) setPositions(c channels.ID, at claimPositions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.positions, c)
	if len(at) > 0 {
		t.positions[c] = at
	}
}
