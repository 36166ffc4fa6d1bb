package gormstore

import (
	"maps"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// While a session holds a snapshot, such as pg_dump, Postgres cannot remove the index entries of
// claimed deliveries: a search for the next deliveries walks past all of them. A claim that got
// everything it asked for therefore remembers where it ended, and the next one continues there. It
// does so only if each of the latest searches was slow, which a busy machine alone does not cause,
// and only for so long that searching keeps a small share of the time: deliveries that came
// meanwhile with an earlier turn are found then.
const (
	slowLook   = 20 * time.Millisecond
	slowLooks  = 8  // in a row
	frontShare = 20 // times the duration of the search
	frontLimit = 10 * time.Second
)

// fronts are the positions where claims of a channel continue, by class.
type fronts map[events.Priority]front

// front is the position in a class.
type front struct {
	projects []orgs.ProjectID
	returned bool
	since    time.Time                // the search
	until    time.Time                // the next search; not after since: at once
	turns    map[orgs.ProjectID]int64 // of what was claimed last
	next     time.Time                // of what was claimed last of what had been claimed before
}

// seenAt returns the fronts found by a search at a moment, valid for a duration.
func seenAt(w waiting, at time.Time, kept time.Duration) fronts {
	seen := fronts{}
	for _, p := range events.Priorities() {
		seen[p] = front{projects: w.projects[p], returned: w.returned[p], since: at, until: at.Add(kept)}
	}
	return seen
}

// looked records how long a search of a channel took, and returns how long its result is valid.
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

// has reports whether deliveries of a class are due.
func (at fronts) has(p events.Priority) bool { return at[p].returned || len(at[p].projects) > 0 }

// pass moves the fronts past the claimed deliveries.
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

// known returns where claims of a channel continue at a moment.
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

// goOn stores where claims of a channel continue.
func (t *turns) goOn(c channels.ID, at fronts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.fronts, c)
	if len(at) > 0 {
		t.fronts[c] = at
	}
}
