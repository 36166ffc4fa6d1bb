package gormstore

import (
	"context"
	"sync"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
)

// Limits of resolvedNames.
const (
	maxResolved   = 1_000_000 // assignments, of 8 bytes each
	entryResolved = 16        // assignments that an occurrence counts as, beside its own
)

// resolvedNames has the assignments of the recipients that occurrences name, while this instance
// expands these in pages. The names are looked up once, before the first page and outside of its
// unit, because other writes wait for a page.
type resolvedNames struct {
	mu          sync.Mutex
	assignments map[events.OccurrenceID][]channels.AssignmentID // ascending
	size        int                                             // see maxResolved
}

// of returns the assignments of an occurrence, if its names have been looked up.
func (r *resolvedNames) of(o events.OccurrenceID) (assignments []channels.AssignmentID, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	assignments, known = r.assignments[o]
	return assignments, known
}

// set stores the assignments of an occurrence. If they are too many, those of other occurrences are
// looked up again.
func (r *resolvedNames) set(o events.OccurrenceID, assignments []channels.AssignmentID) {
	r.remove(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	size := len(assignments) + entryResolved
	if r.assignments == nil || r.size+size > maxResolved {
		r.assignments, r.size = map[events.OccurrenceID][]channels.AssignmentID{}, 0
	}
	r.assignments[o] = assignments
	r.size += size
}

// remove removes an expanded occurrence.
func (r *resolvedNames) remove(o events.OccurrenceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if assignments, known := r.assignments[o]; known {
		delete(r.assignments, o)
		r.size -= len(assignments) + entryResolved
	}
}

// resolveNames looks up the names of an occurrence.
func (q queue) resolveNames(ctx context.Context, o events.Occurrence) error {
	return q.view(ctx, func(t tx) error {
		c := candidatesOf(t.dialect, o)
		found, err := rowsOf[channels.AssignmentID](t.db(ctx).Raw("SELECT assignment_id FROM ("+c.named()+") AS named ORDER BY assignment_id", c.parameters()))
		if err == nil {
			q.store.names.set(o.ID, found)
		}
		return err
	})
}
