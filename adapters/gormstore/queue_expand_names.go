package gormstore

import (
	"context"
	"sync"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
)

// maxResolved is the maximum number of occurrences in resolvedNames.
const maxResolved = 64

// resolvedNames has the assignments of the recipients that occurrences name, while this instance
// expands these in pages. The names are looked up once, before the first page and outside of its
// unit, because other writes wait for a page.
type resolvedNames struct {
	mu          sync.Mutex
	assignments map[events.OccurrenceID][]channels.AssignmentID // ascending
}

// of returns the assignments of an occurrence, if its names have been looked up.
func (r *resolvedNames) of(o events.OccurrenceID) (assignments []channels.AssignmentID, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	assignments, known = r.assignments[o]
	return assignments, known
}

// set stores the assignments of an occurrence. If there are too many occurrences, the names of the
// others are looked up again.
func (r *resolvedNames) set(o events.OccurrenceID, assignments []channels.AssignmentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.assignments == nil || len(r.assignments) >= maxResolved {
		r.assignments = map[events.OccurrenceID][]channels.AssignmentID{}
	}
	r.assignments[o] = assignments
}

// remove removes an expanded occurrence.
func (r *resolvedNames) remove(o events.OccurrenceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.assignments, o)
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
