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
// where looking took long, and for no longer than keeps looking a small share of the time: what
// came meanwhile and goes before is seen then.
const (
	slowLook   = 10 * time.Millisecond
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

// seenAt is what a look has found that took from one moment to another.
func seenAt(w waiting, began, ended time.Time) fronts {
	at := fronts{}
	for _, p := range events.Priorities() {
		f := front{projects: w.projects[p], returned: w.returned[p], since: ended, until: ended}
		if took := ended.Sub(began); took >= slowLook {
			f.until = ended.Add(min(frontShare*took, frontLimit))
		}
		at[p] = f
	}
	return at
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
	known := maps.Clone(t.fronts[c])
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
