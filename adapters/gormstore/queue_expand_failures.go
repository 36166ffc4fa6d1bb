package gormstore

import (
	"maps"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// After its expansion has failed, an occurrence is expanded after all others for expansionRetry,
// which doubles with each failure up to expansionRetryMax.
const (
	expansionRetry    = 10 * time.Second
	expansionRetryMax = 10 * time.Minute
	maxPostponed      = 1_000
)

// expansionTurn is whose turn it is to be expanded, and what was found.
type expansionTurn struct {
	part      deliveries.ExpansionPart
	queues    []deliveries.ExpansionQueue
	after     map[deliveries.ExpansionQueue]orgs.ID
	postponed []events.OccurrenceID
	alone     map[events.ID]bool // events whose occurrences are expanded one by one
	limit     int                // of recipients
	found     foundExpansion
}

// foundExpansion is what a unit of work found to be expanded.
type foundExpansion struct {
	first      occurrenceRow      // id 0: nothing
	set        int                // how many small occurrences are expanded together
	unresolved *events.Occurrence // its names have to be resolved first
}

// expansionFailures records whose expansion failed, so that it stops nobody else's. A set may fail
// because of any of its occurrences: those of its event are then expanded one by one, until that
// one is found.
type expansionFailures struct {
	occurrences map[events.OccurrenceID]postponement
	events      map[events.ID]time.Time // until when
}

// postponement is until when others go first. It is forgotten when it has been over for as long as
// it lasted.
type postponement struct {
	until time.Time
	lasts time.Duration
	large bool // of the occurrence
}

// nextExpansion returns whose turn it is.
func (t *turns) nextExpansion(part deliveries.ExpansionPart, limit int) expansionTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, now := t.failures, t.clock.Now()
	maps.DeleteFunc(f.occurrences, func(_ events.OccurrenceID, p postponement) bool { return now.Sub(p.until) >= p.lasts })
	maps.DeleteFunc(f.events, func(_ events.ID, until time.Time) bool { return !now.Before(until) })
	turn := expansionTurn{part: part, queues: deliveries.ExpansionQueues(part, t.expansions[part]), after: maps.Clone(t.organizations), limit: limit,
		alone: map[events.ID]bool{}}
	for o, p := range f.occurrences {
		if now.Before(p.until) && turn.hasSize(p.large) {
			turn.postponed = append(turn.postponed, o)
		}
	}
	for e := range f.events {
		turn.alone[e] = true
	}
	return turn
}

// hasSize reports whether the part has occurrences of this size.
func (t expansionTurn) hasSize(large bool) bool {
	return slices.ContainsFunc(t.queues, func(q deliveries.ExpansionQueue) bool { return q.Large == large })
}

// expanded records an expansion: the next turn is another one's.
func (t *turns) expanded(turn expansionTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failures.occurrences, turn.found.first.ID)
	t.advance(turn)
}

// advance moves the turn on. t.mu is locked.
func (t *turns) advance(turn expansionTurn) {
	o := turn.found.first
	t.expansions[turn.part]++
	t.organizations[deliveries.ExpansionQueue{Large: o.Large, Priority: o.Priority}] = o.OrganizationID
}

// failed records that an expansion failed: the next turn is another one's. It reports whether the
// occurrence is to be expanded once more at once, without the others of its set.
func (t *turns) failed(turn *expansionTurn) (again bool) {
	o := turn.found.first
	if o.ID == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now, f := t.clock.Now(), t.failures
	if turn.found.set > 1 {
		f.events[o.EventID] = now.Add(expansionRetry)
		turn.alone[o.EventID] = true
		return true
	}
	delete(f.events, o.EventID)
	if p, known := f.occurrences[o.ID]; known || len(f.occurrences) < maxPostponed {
		lasts := min(max(2*p.lasts, expansionRetry), expansionRetryMax)
		f.occurrences[o.ID] = postponement{now.Add(lasts), lasts, o.Large}
	}
	t.advance(*turn)
	return false
}
