package delivery

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// jobQueue is the queue of deliveries that a sender has claimed and not begun: by priority class,
// and within a class in the order of their claims.
type jobQueue struct {
	mu      sync.Mutex
	jobs    []deliveries.Job
	closed  bool
	added   chan struct{} // receives when jobs were added or the queue was closed
	removed chan struct{} // receives when a job was taken
}

func newJobQueue() *jobQueue {
	return &jobQueue{added: make(chan struct{}, 1), removed: make(chan struct{}, 1)}
}

// add appends jobs, each to its class.
func (q *jobQueue) add(jobs []deliveries.Job) {
	q.mu.Lock()
	q.jobs = append(q.jobs, jobs...)
	slices.SortStableFunc(q.jobs, func(a, b deliveries.Job) int { return cmp.Compare(a.Priority, b.Priority) })
	q.mu.Unlock()
	notify(q.added)
}

// close ends the queue: no job is added after it.
func (q *jobQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	notify(q.added)
}

// take returns the first job and waits for one if there is none. It reports false when the queue is
// closed and empty.
func (q *jobQueue) take() (deliveries.Job, bool) {
	for {
		q.mu.Lock()
		if len(q.jobs) > 0 {
			first := q.jobs[0]
			q.jobs = q.jobs[1:]
			q.mu.Unlock()
			notify(q.removed)
			return first, true
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return deliveries.Job{}, false
		}
		<-q.added
	}
}

// targets returns the targets of the jobs, in their order.
func (q *jobQueue) targets(of func(deliveries.Job) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, j := range q.jobs {
			if !yield(of(j)) {
				return
			}
		}
	}
}

func (q *jobQueue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs)
}

// waitUntil waits until at most most jobs are left, or until something urgent is due and at most
// ahead are, and no longer than longest. It reports whether more may be claimed, and whether the
// urgent job is the reason.
func (q *jobQueue) waitUntil(ctx context.Context, most, ahead int, urgent <-chan struct{}, longest time.Duration) (ready, interrupted bool) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	for q.length() > most {
		select {
		case <-ctx.Done():
			return false, false
		case <-timer.C:
			return false, false
		case <-urgent:
			if q.length() <= ahead {
				return true, true
			}
		case <-q.removed:
		}
	}
	return true, false
}

// claimAhead is how long the deliveries of one claim should take to begin: later claims wait for
// them.
const claimAhead = 100 * time.Millisecond

// attemptRate is how many attempts a sender begins in a second.
type attemptRate struct {
	since     time.Time
	begun     int
	perSecond float64 // 0: not known yet
}

// measure records at each claim how many attempts have begun since the last one.
func (t *attemptRate) measure(now time.Time, begun int) {
	t.begun += begun
	took := now.Sub(t.since)
	switch {
	case t.since.IsZero():
		t.since, t.begun = now, 0
	case took >= claimAhead:
		rate := float64(t.begun) / took.Seconds()
		if t.perSecond > 0 {
			rate = (rate + t.perSecond) / 2
		}
		t.since, t.begun, t.perSecond = now, 0, rate
	}
}

// ahead returns how many attempts begin within claimAhead, limited to the range from least to most.
// It returns most while the rate is unknown.
func (t *attemptRate) ahead(least, most int) int {
	if t.perSecond == 0 {
		return most
	}
	return min(most, max(least, int(t.perSecond*claimAhead.Seconds())))
}
