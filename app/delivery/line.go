package delivery

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// line is what a sender has claimed and not begun: the urgent first, and within a class what was
// claimed first.
type line struct {
	mu      sync.Mutex
	jobs    []deliveries.Job
	closed  bool
	added   chan struct{} // receives when there is more, or no more to come
	removed chan struct{} // receives when one was taken
}

func newLine() *line { return &line{added: make(chan struct{}, 1), removed: make(chan struct{}, 1)} }

// add puts jobs behind those of their class.
func (l *line) add(jobs []deliveries.Job) {
	l.mu.Lock()
	l.jobs = append(l.jobs, jobs...)
	slices.SortStableFunc(l.jobs, func(a, b deliveries.Job) int { return cmp.Compare(a.Priority, b.Priority) })
	l.mu.Unlock()
	notify(l.added)
}

// close says that nothing more will be added.
func (l *line) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	notify(l.added)
}

// take takes the first job, and waits for one. It reports false when nothing is left and nothing
// more will be added.
func (l *line) take() (deliveries.Job, bool) {
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

func (l *line) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.jobs)
}

// waitFor waits until no more than so many are left, or until something urgent is due, if the line
// is not much longer. It reports whether that is why.
func (l *line) waitFor(ctx context.Context, most int, urgent <-chan struct{}) (hurry bool) {
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

// claimAhead is how long what is claimed at once should take to be begun: whatever is claimed later
// waits behind it.
const claimAhead = 100 * time.Millisecond

// tempo is how many attempts a sender begins in a second.
type tempo struct {
	since     time.Time
	begun     int
	perSecond float64 // 0: not known yet
}

// measure is told at each claim how many attempts have begun since the last one.
func (t *tempo) measure(now time.Time, begun int) {
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

// ahead is how many attempts begin within claimAhead; most where that is not known, or is more.
func (t *tempo) ahead(least, most int) int {
	if t.perSecond == 0 {
		return most
	}
	return min(most, max(least, int(t.perSecond*claimAhead.Seconds())))
}
