package delivery

import (
	"cmp"
	"context"
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
	added   chan struct{} // receives when jobs were added or the line was closed
	removed chan struct{} // receives when a job was taken
}

func newJobQueue() *jobQueue {
	return &jobQueue{added: make(chan struct{}, 1), removed: make(chan struct{}, 1)}
}

// add appends jobs, each to its class.
func (l *jobQueue) add(jobs []deliveries.Job) {
	l.mu.Lock()
	l.jobs = append(l.jobs, jobs...)
	slices.SortStableFunc(l.jobs, func(a, b deliveries.Job) int { return cmp.Compare(a.Priority, b.Priority) })
	l.mu.Unlock()
	notify(l.added)
}

// close ends the line: no job is added after it.
func (l *jobQueue) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	notify(l.added)
}

// take returns the first job and waits for one if there is none. It reports false when the line is
// closed and empty.
func (l *jobQueue) take() (deliveries.Job, bool) {
	for {
		l.mu.Lock()
		if len(l.jobs) > 0 {
			first := l.jobs[0]
			l.jobs = l.jobs[1:]
			l.mu.Unlock()
			notify(l.removed)
			return first, true
		}
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return deliveries.Job{}, false
		}
		<-l.added
	}
}

func (l *jobQueue) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.jobs)
}

// waitFor waits until at most most jobs are left, or until something urgent is due and the line is
// not much longer. It reports whether the urgent job ended the wait.
func (l *jobQueue) waitFor(ctx context.Context, most int, urgent <-chan struct{}) (hurry bool) {
	for l.length() > most {
		select {
		case <-ctx.Done():
			return false
		case <-urgent:
			if l.length() <= 3*most {
				return true
			}
		case <-l.removed:
		}
	}
	return false
}

// claimAhead is how long one claim's deliveries should take to begin: later claims wait behind
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

// ahead returns how many attempts begin within claimAhead, but at most most. It returns most while
// the tempo is unknown.
func (t *attemptRate) ahead(least, most int) int {
	if t.perSecond == 0 {
		return most
	}
	return min(most, max(least, int(t.perSecond*claimAhead.Seconds())))
}
