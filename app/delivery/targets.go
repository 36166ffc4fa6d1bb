package delivery

import (
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits of the targets of a channel.
const (
	targetShare   = 3               // times the attempts that are free, a target may have under way
	targetParked  = 16              // deliveries that wait for one target
	targetStalled = 2 * time.Second // without an answer, deliveries of others go first
	targetPause   = 5 * time.Second // a delivery to a stalled target is due again after
	targetGroup   = 500             // deliveries that are put off are due again so many each second
	targetLongest = time.Hour       // a delivery is put off
	targetsKept   = 1_000           // targets that fail and have nothing under way
)

// targets hands out the attempts of a sender. On channels whose messages go to a host of their
// recipient (webhooks), each host is a target with a share of the attempts and a breaker: one that
// hangs does not use up the attempts, and others go on.
//
// A target may have another attempt while it has fewer than targetShare times those that are free.
// What is over that is parked until one ends. What does not fit there either is put off when the
// target does not answer; else it holds up the sender for the moment that an answer takes.
type targets struct {
	changed chan struct{}

	mu      sync.Mutex
	limit   int       // attempts at once
	until   time.Time // the limit holds until then, and from then on none may begin; zero: for good
	running int
	known   map[string]*target
}

// target is a host to which messages go.
type target struct {
	running  int
	parked   []deliveries.Job
	answered time.Time // when an attempt ended last; of the first that runs, when it began
	putOff   time.Time // until when the latest deliveries were put off
	group    int       // how many of them until then
	breaker  breaker
}

// verdict says what becomes of a delivery that is to be sent.
type verdict int

const (
	mayStart verdict = iota // an attempt may begin
	isParked                // an attempt at another delivery goes on with it
	isPutOff                // it is to be given back
	mustWait                // ask again when something has changed
)

// answer says what an attempt showed about its target.
type answer int

const (
	notAsked   answer = iota // nothing: there was no attempt
	answered                 // it answers, whatever it said
	unanswered               // it does not
)

func newTargets(limit int) *targets {
	return &targets{limit: limit, changed: make(chan struct{}, 1), known: map[string]*target{}}
}

// allow changes the limit, until a moment.
func (t *targets) allow(limit int, until time.Time) {
	t.mu.Lock()
	t.limit, t.until = limit, until
	t.mu.Unlock()
	notify(t.changed)
}

// held is how many attempts may be under way, or are.
func (t *targets) held(now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.running, t.most(now))
}

// places is how many attempts may be under way.
func (t *targets) places(now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most(now)
}

// most is how many attempts may be under way. The caller holds the lock.
func (t *targets) most(now time.Time) int {
	if !t.until.IsZero() && !now.Before(t.until) {
		return 0
	}
	return t.limit
}

// tooMany reports whether more attempts are under way than may be, because the limit has changed
// since they were let through: those that have not begun shall not.
func (t *targets) tooMany(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running > t.most(now)
}

// full reports whether as many attempts are under way as may be.
func (t *targets) full(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running >= t.most(now)
}

// offer decides about a delivery. The moment is until when it is put off.
func (t *targets) offer(name string, j deliveries.Job, now time.Time) (verdict, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running >= t.most(now) {
		return mustWait, time.Time{}
	}
	if name == "" {
		t.running++
		return mayStart, time.Time{}
	}
	g := t.known[name]
	if g == nil {
		g = &target{}
		t.known[name] = g
	}
	if rest := g.breaker.open(now); !rest.IsZero() {
		return isPutOff, g.delay(rest)
	}
	if t.admits(g, now) {
		t.begin(g, now)
		return mayStart, time.Time{}
	}
	switch {
	case g.breaker.onTrial():
		return isPutOff, g.delay(now.Add(g.breaker.pause))
	case len(g.parked) < targetParked:
		g.parked = append(g.parked, j)
		return isParked, time.Time{}
	case now.Sub(g.answered) > targetStalled:
		return isPutOff, g.delay(now.Add(targetPause))
	}
	return mustWait, time.Time{}
}

// end ends an attempt and returns a parked delivery to go on with, if there is one. Off are
// deliveries that were parked and are put off until a moment.
func (t *targets) end(name string, a answer, now time.Time) (next deliveries.Job, more bool, off []deliveries.Job, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer notify(t.changed)
	t.running--
	if g := t.known[name]; g != nil {
		g.running--
		g.answered = now
		switch a {
		case answered:
			g.breaker.passed()
		case unanswered:
			g.breaker.failed(now)
		case notAsked:
		}
		if until = g.breaker.open(now); !until.IsZero() {
			off, g.parked = g.parked, nil
		}
		t.tidy(name, g, now)
	}
	var best *target
	for _, g := range t.known {
		if len(g.parked) > 0 && t.admits(g, now) && (best == nil || g.running < best.running) {
			best = g
		}
	}
	if best == nil {
		if t.running == 0 { // None may begin: nobody would go on with what is parked.
			if off = append(off, t.unpark()...); until.IsZero() {
				until = now
			}
		}
		return deliveries.Job{}, false, off, until
	}
	next, best.parked = best.parked[0], best.parked[1:]
	t.begin(best, now)
	return next, true, off, until
}

// drop returns what is parked, which nobody goes on with.
func (t *targets) drop() (jobs []deliveries.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unpark()
}

func (t *targets) unpark() (jobs []deliveries.Job) {
	for _, g := range t.known {
		jobs = append(jobs, g.parked...)
		g.parked = nil
	}
	return jobs
}

// admits reports whether an attempt at a target may begin.
func (t *targets) admits(g *target, now time.Time) bool {
	if g.breaker.onTrial() && g.running > 0 {
		return false
	}
	return g.running < targetShare*(t.most(now)-t.running)
}

func (t *targets) begin(g *target, now time.Time) {
	if g.running == 0 {
		g.answered = now
	}
	t.running++
	g.running++
}

// delay returns until when a delivery is put off: not before a moment, and in groups, so that not
// all of them are due again at once.
func (g *target) delay(earliest time.Time) time.Time {
	switch {
	case g.putOff.Before(earliest):
		g.putOff, g.group = earliest, 0
	case g.group >= targetGroup && g.putOff.Before(earliest.Add(targetLongest)):
		g.putOff, g.group = g.putOff.Add(time.Second), 0
	}
	g.group++
	return g.putOff
}

// tidy forgets targets that nothing is known of, and some others when there are too many.
func (t *targets) tidy(name string, g *target, now time.Time) {
	if g.running == 0 && len(g.parked) == 0 && g.breaker.failures == 0 && g.putOff.Before(now) {
		delete(t.known, name)
	}
	for name, g := range t.known {
		if len(t.known) <= targetsKept {
			return
		}
		if g.running == 0 && len(g.parked) == 0 {
			delete(t.known, name)
		}
	}
}
