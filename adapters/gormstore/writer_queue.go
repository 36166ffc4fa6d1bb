package gormstore

import (
	"sync"
	"time"
)

// commonShare is the part of its time by which work without an organization is charged, because it
// is done for all of them, such as sending.
const commonShare = 0.25

// unitQueue is the queue of a writer. Organizations take turns by the time that their units take,
// so that long units of one do not hold up the others (start-time fair queueing). Within an
// organization, units run in order of arrival.
type unitQueue struct {
	mu      sync.Mutex
	arrived *sync.Cond // of mu: a unit arrived, or the queue was closed
	closed  bool
	number  int64            // of arrivals
	turns   map[string]*turn // by organization; "": work without one
	now     time.Duration    // what the organization had been charged that went last
}

// turn is an organization's place in the queue.
type turn struct {
	charged time.Duration
	waiting []*unit
}

func newUnitQueue() *unitQueue {
	q := &unitQueue{turns: map[string]*turn{}}
	q.arrived = sync.NewCond(&q.mu)
	return q
}

// add appends a unit.
func (q *unitQueue) add(u *unit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.turns[u.organization]
	if t == nil {
		t = &turn{}
		q.turns[u.organization] = t
	}
	if len(t.waiting) == 0 { // Time in which it asked for nothing is no credit.
		t.charged = max(t.charged, q.now)
	}
	q.number++
	u.number = q.number
	t.waiting = append(t.waiting, u)
	q.arrived.Signal()
}

// close ends the queue: no unit is added after it.
func (q *unitQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Signal()
}

// next returns the unit whose turn it is, and waits for one if there is none; nil when the queue is
// closed and empty.
func (q *unitQueue) next() *unit {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if u := q.take(false); u != nil || q.closed {
			return u
		}
		q.arrived.Wait()
	}
}

// joining returns the unit whose turn it is; nil when there is none, or when it is not small
// although it must be.
func (q *unitQueue) joining(mustBeSmall bool) *unit {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(mustBeSmall)
}

// take is joining for a caller that holds mu.
func (q *unitQueue) take(mustBeSmall bool) *unit {
	var first *turn
	for organization, t := range q.turns {
		switch {
		case len(t.waiting) == 0:
			if t.charged <= q.now {
				delete(q.turns, organization) // A new one would begin there.
			}
		case first == nil || t.charged < first.charged ||
			t.charged == first.charged && t.waiting[0].number < first.waiting[0].number:
			first = t
		}
	}
	if first == nil { // Nobody waits, so nobody is owed a turn.
		clear(q.turns)
		q.now = 0
		return nil
	}
	if mustBeSmall && !first.waiting[0].small {
		return nil
	}
	u := first.waiting[0]
	first.waiting = first.waiting[1:]
	q.now = max(q.now, first.charged)
	return u
}

// charge charges a unit's organization for the time that it took.
func (q *unitQueue) charge(u *unit, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u.organization == "" {
		took = time.Duration(commonShare * float64(took))
	}
	if t := q.turns[u.organization]; t != nil {
		t.charged += took
	}
}
