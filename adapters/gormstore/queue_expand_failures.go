package gormstore

import (
	"maps"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
)

// expansionRetry is for how long others are expanded before an occurrence whose expansion failed.
const expansionRetry = 10 * time.Second

// expansionTurn is whose turn it is to be expanded, and what was found.
type expansionTurn struct {
	queues    []deliveries.ExpansionQueue
	after     map[deliveries.ExpansionQueue]orgs.ID
	postponed []events.OccurrenceID
	alone     map[events.ID]bool // events whose occurrences are expanded one by one
	limit     int                // of recipients

	in         deliveries.ExpansionQueue
	first      occurrenceRow      // id 0: none was found
	set        int                // how many small occurrences are expanded together
	unresolved *events.Occurrence // its names have to be resolved first
}

// expansionFailures records whose expansion failed, so that it stops nobody else's. A set may fail
// because of any of its occurrences: those of its event are then expanded one by one for a time.
type expansionFailures struct {
	occurrences map[events.OccurrenceID]time.Time // until when others go first
	events      map[events.ID]time.Time
}

// nextExpansion returns whose turn it is.
func (t *turns) nextExpansion(limit int) expansionTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, now := t.failures, t.clock.Now()
	maps.DeleteFunc(f.occurrences, func(_ events.OccurrenceID, until time.Time) bool { return !now.Before(until) })
	maps.DeleteFunc(f.events, func(_ events.ID, until time.Time) bool { return !now.Before(until) })
	turn := expansionTurn{queues: deliveries.ExpansionQueues(t.expansions), after: maps.Clone(t.organizations), limit: limit,
		postponed: slices.Collect(maps.Keys(f.occurrences)), alone: map[events.ID]bool{}}
	for e := range f.events {
		turn.alone[e] = true
	}
	return turn
}

// failed records that an expansion failed: the next turn is another one's. It reports whether the
// occurrence is to be expanded once more at once, without the others of its set.
func (t *turns) failed(turn *expansionTurn) (again bool) {
	if turn.first.ID == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	until := t.clock.Now().Add(expansionRetry)
	if turn.set > 1 {
		t.failures.events[turn.first.EventID] = until
		turn.alone[turn.first.EventID] = true
		return true
	}
	t.failures.occurrences[turn.first.ID] = until
	t.expansions++
	t.organizations[turn.in] = turn.first.OrganizationID
	return false
}
