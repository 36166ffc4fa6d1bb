package delivery

import (
	"iter"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits of the targets of a channel.
const (
	targetShare    = 3                      // a target may have at most this many times the free attempts
	targetParked   = 16                     // deliveries that wait for one target
	targetStalled  = 2 * time.Second        // after this time without an answer, deliveries of a target are postponed
	targetPause    = 5 * time.Second        // until a delivery to a stalled target is due again
	targetSlow     = 250 * time.Millisecond // after this time parked, others need not wait for a target
	targetBehind   = time.Second            // until a delivery that is postponed for others is due again
	targetGroup    = 500                    // postponed deliveries that are due in the same second
	targetMaxDelay = time.Hour              // the longest that a delivery is postponed
	targetGone     = time.Hour              // after this time without an answer, old deliveries of a target fail
	targetsKept    = 1_000                  // failing targets without attempts that are remembered
)

// targets hands out the attempts of a sender. On channels whose messages go to a host of their
// recipient (webhooks), each host is a target with a share of the attempts and a breaker: a host
// that hangs does not use up the attempts, and others go on.
//
// A target may have another attempt while it has fewer than targetShare times the free ones.
// Further deliveries are parked until an attempt ends. When too many are parked they are postponed
// if the target does not answer. They are also postponed if it answers slowly and an attempt at
// another target could begin. Otherwise they hold up the sender, because nothing would be gained:
// a fast target would only make the store give the same deliveries out again and again.
type targets struct {
	changed chan struct{}

	mu      sync.Mutex
	limit   int       // concurrent attempts
	until   time.Time // the end of limit, after which no attempt may begin; zero: none
	running int
	known   map[string]*target
}

// target is a host to which messages go.
type target struct {
	running        int
	parked         []parkedJob
	answered       time.Time // when an attempt ended last, or when the first running one began
	postponedUntil time.Time // the time until which the latest deliveries are postponed
	group          int       // how many of them have that time
	breaker        breaker
	failure        string // why it did not respond the last time, without the recipient's address
}

// parkedJob is a delivery that waits for an attempt.
type parkedJob struct {
	deliveries.Job

	since time.Time
}

// postponement is a delivery that is given back untried.
type postponement struct {
	job    deliveries.Job
	until  time.Time
	reason string    // what is wrong with its host; empty: nothing
	since  time.Time // since when the host has failed; zero: it has not
}

// outcome returns the outcome of the delivery. It says why, unless an earlier attempt has an error
// of its own. A delivery whose time is up has failed when its host has not answered for long: few
// of many deliveries get an attempt there. stored is now by the database's clock.
func (p postponement) outcome(now, stored time.Time, retry time.Duration) deliveries.Outcome {
	if !p.since.IsZero() && now.Sub(p.since) >= targetGone && stored.Sub(p.job.Created) >= retry {
		return deliveries.Outcome{ID: p.job.ID, State: deliveries.Failed, Attempts: p.job.Attempts, Error: outOfTime(p.reason)}
	}
	out := postponedUntried(p.job, p.until)
	if p.job.Attempts == 0 {
		out.Error = shortened(p.reason)
	}
	return out
}

// Why a delivery is postponed whose host has not failed yet.
const (
	stalledReason = "the host does not answer in time"
	slowReason    = "the host answers slowly"
)

// postpone postpones a delivery of a target whose breaker was opened.
func (g *target) postpone(j deliveries.Job, until time.Time) postponement {
	return postponement{j, until, "the host did not answer: " + g.failure, g.breaker.since}
}

// admission is the decision about a delivery.
type admission int

const (
	admitted  admission = iota // an attempt may begin
	parked                     // it waits for the end of another attempt
	postponed                  // it is to be given back
	mustWait                   // ask again when something has changed
)

// targetResult is what an attempt showed about its target.
type targetResult struct {
	attempted bool
	responds  bool
	failure   string // why it does not respond
}

var (
	noAttempt = targetResult{}                                // It showed nothing.
	responded = targetResult{attempted: true, responds: true} // whatever its answer
)

// notResponding is the result of an attempt that got no response.
func notResponding(failure string) targetResult {
	return targetResult{attempted: true, failure: failure}
}

// attemptEnd is what follows the end of an attempt.
type attemptEnd struct {
	next          deliveries.Job // a parked delivery to continue with
	more          bool           // there is one
	postponed     []postponement // parked deliveries that are given back
	before, after breaker        // of the target
}

func newTargets(limit int) *targets {
	return &targets{limit: limit, changed: make(chan struct{}, 1), known: map[string]*target{}}
}

// allow sets the limit until a time.
func (t *targets) allow(limit int, until time.Time) {
	t.mu.Lock()
	t.limit, t.until = limit, until
	t.mu.Unlock()
	notify(t.changed)
}

// claimedAt returns how many attempts are running or may run, whichever is more.
func (t *targets) claimedAt(now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.running, t.current(now))
}

// limitAt returns how many attempts may run.
func (t *targets) limitAt(now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current(now)
}

// current returns how many attempts may run. The wall clock counts, too: the monotonic one stands
// still while the machine is suspended. The caller holds the lock.
func (t *targets) current(now time.Time) int {
	if t.until.IsZero() || now.Before(t.until) && now.Round(0).Before(t.until.Round(0)) {
		return t.limit
	}
	return 0
}

// tooMany reports whether more attempts are running than are allowed, because the limit has changed
// since they were admitted: attempts that have not begun must not begin.
func (t *targets) tooMany(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running > t.current(now)
}

// full reports whether no further attempt is allowed.
func (t *targets) full(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running >= t.current(now)
}

// offer decides about a delivery. It returns the postponement of one that is postponed. next are
// the targets of the deliveries that follow it.
func (t *targets) offer(name string, j deliveries.Job, next iter.Seq[string], now time.Time) (admission, postponement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running >= t.current(now) {
		return mustWait, postponement{}
	}
	if name == "" {
		t.running++
		return admitted, postponement{}
	}
	g := t.known[name]
	if g == nil {
		g = &target{}
		t.known[name] = g
	}
	if until := g.breaker.open(now); !until.IsZero() {
		return postponed, g.postpone(j, g.delay(until))
	}
	if t.admits(g, now) {
		t.begin(g, now)
		return admitted, postponement{}
	}
	switch {
	case g.breaker.onTrial():
		return postponed, g.postpone(j, g.delay(now.Add(g.breaker.pause)))
	case len(g.parked) < targetParked:
		g.parked = append(g.parked, parkedJob{j, now})
		return parked, postponement{}
	case now.Sub(g.answered) > targetStalled:
		return postponed, postponement{job: j, until: g.delay(now.Add(targetPause)), reason: stalledReason}
	case now.Sub(g.parked[0].since) >= targetSlow && t.admitsAny(next, now):
		return postponed, postponement{job: j, until: g.delay(now.Add(targetBehind)), reason: slowReason}
	}
	return mustWait, postponement{}
}

// end ends an attempt and returns what follows.
func (t *targets) end(name string, a targetResult, now time.Time) (e attemptEnd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer notify(t.changed)
	t.running--
	if g := t.known[name]; g != nil {
		g.running--
		g.answered = now
		if a.attempted && !a.responds && now.Sub(g.breaker.last) >= targetGone {
			g.breaker = breaker{} // Nothing is known of the time since the last failure.
		}
		e.before = g.breaker
		switch {
		case !a.attempted:
		case a.responds:
			g.breaker.succeeded(now)
		default:
			g.breaker.failed(now)
			g.failure = a.failure
		}
		e.after = g.breaker
		if until := g.breaker.open(now); !until.IsZero() {
			for _, j := range g.parked {
				e.postponed = append(e.postponed, g.postpone(j.Job, until))
			}
			g.parked = nil
		}
		t.prune(name, g, now)
	}
	var best *target
	for _, g := range t.known {
		if len(g.parked) > 0 && t.admits(g, now) && (best == nil || g.running < best.running) {
			best = g
		}
	}
	if best == nil {
		if t.running == 0 { // No attempt may begin, so none would continue with the parked ones.
			for _, j := range t.unpark() {
				e.postponed = append(e.postponed, postponement{job: j, until: now})
			}
		}
		return e
	}
	e.next, e.more, best.parked = best.parked[0].Job, true, best.parked[1:]
	t.begin(best, now)
	return e
}

// drop returns the parked deliveries, because no attempt continues with them.
func (t *targets) drop() (jobs []deliveries.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unpark()
}

func (t *targets) unpark() (jobs []deliveries.Job) {
	for _, g := range t.known {
		for _, j := range g.parked {
			jobs = append(jobs, j.Job)
		}
		g.parked = nil
	}
	return jobs
}

// admits reports whether an attempt at a target may begin.
func (t *targets) admits(g *target, now time.Time) bool {
	if g.breaker.onTrial() && g.running > 0 {
		return false
	}
	return g.running < targetShare*(t.current(now)-t.running)
}

// admitsAny reports whether an attempt at one of several targets may begin, provided that attempts
// are free. The caller holds the lock.
func (t *targets) admitsAny(names iter.Seq[string], now time.Time) bool {
	for name := range names {
		if g := t.known[name]; g == nil || g.breaker.open(now).IsZero() && t.admits(g, now) {
			return true
		}
	}
	return false
}

func (t *targets) begin(g *target, now time.Time) {
	if g.running == 0 {
		g.answered = now
	}
	t.running++
	g.running++
}

// delay returns the time until which a delivery is postponed: not before earliest, and in groups,
// so that not all of them are due at the same moment.
func (g *target) delay(earliest time.Time) time.Time {
	switch {
	case g.postponedUntil.Before(earliest):
		g.postponedUntil, g.group = earliest, 0
	case g.group >= targetGroup && g.postponedUntil.Before(earliest.Add(targetMaxDelay)):
		g.postponedUntil, g.group = g.postponedUntil.Add(time.Second), 0
	}
	g.group++
	return g.postponedUntil
}

// failing reports whether an attempt at a target has failed lately. How long a target has not
// answered is known only here.
func (t *targets) failing(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.known {
		if g.breaker.failures > 0 && now.Sub(g.breaker.last) < targetGone {
			return true
		}
	}
	return false
}

// prune forgets the target if it has no state worth keeping, and some others when there are too
// many.
func (t *targets) prune(name string, g *target, now time.Time) {
	if g.running == 0 && len(g.parked) == 0 && g.breaker.failures == 0 && g.postponedUntil.Before(now) {
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
