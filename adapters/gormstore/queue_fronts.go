package gormstore

import (
	"maps"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// While somebody keeps a snapshot, such as pg_dump, Postgres cannot clean away what was claimed
// since: whoever looks for what goes next walks past all of it in the indexes. A claim that got all
// it asked for therefore remembers where it ended, and the next one goes on there. It does so only
// where each of the latest looks took long, which a busy machine alone does not bring about, and
// for no longer than keeps looking a small share of the time: what came meanwhile and goes before
// is seen then.
const (
	slowLook   = 20 * time.Millisecond
	slowLooks  = 8  // one after the other
	frontShare = 20 // times as long as looking took
	frontLimit = 10 * time.Second
)

// fronts are where claims of a channel go on, by class.
type fronts map[events.Priority]front

// front is what is known of a class.
type front struct {
	projects []orgs.ProjectID
	returned bool
	since    time.Time                // the look
	until    time.Time                // the next look; not after since: at once
	turns    map[orgs.ProjectID]int64 // of what was claimed last
	next     time.Time                // of what was claimed last of what had been claimed before
}

// seenAt is what a look has found at a moment, to be kept for so long.
func seenAt(w waiting, at time.Time, kept time.Duration) fronts {
	seen := fronts{}
	for _, p := range events.Priorities() {
		seen[p] = front{projects: w.projects[p], returned: w.returned[p], since: at, until: at.Add(kept)}
	}
	return seen
}

// looked notes how long a look at a channel took, and returns for how long it is to be kept.
func (t *turns) looked(c channels.ID, took time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if took < slowLook {
		delete(t.slow, c)
		return 0
	}
	t.slow[c] = min(t.slow[c]+1, slowLooks)
	if t.slow[c] < slowLooks {
		return 0
	}
	return min(frontShare*took, frontLimit)
}

// has reports whether something of a class is due.
func (at fronts) has(p events.Priority) bool { return at[p].returned || len(at[p].projects) > 0 }

// pass moves the fronts behind what was claimed.
func (at fronts) pass(claimed []dueDelivery) {
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

// known returns where claims of a channel go on at a moment.
func (t *turns) known(c channels.ID, now time.Time) fronts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fronts[c].at(now)
}

// allKnown returns the channels of which claims know where they go on at a moment.
func (t *turns) allKnown(now time.Time) map[channels.ID]fronts {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[channels.ID]fronts{}
	for c, f := range t.fronts {
		if f = f.at(now); len(f) > 0 {
			all[c] = f
		}
	}
	return all
}

// at returns those that hold at a moment.
func (at fronts) at(now time.Time) fronts {
	known := maps.Clone(at)
	maps.DeleteFunc(known, func(_ events.Priority, f front) bool { return now.Before(f.since) || !f.until.After(now) })
	return known
}

// goOn keeps where claims of a channel go on.
func (t *turns) goOn(c channels.ID, at fronts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.fronts, c)
	if len(at) > 0 {
		t.fronts[c] = at
	}
}
