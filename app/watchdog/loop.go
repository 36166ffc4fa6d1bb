package watchdog

import (
	"sync"
	"time"
)

// post watches a loop across all its runs.
type post struct {
	dog  *Watchdog
	name string

	mu       sync.Mutex
	present  *Loop
	patience time.Duration
	turned   time.Time
	stalled  bool
	restarts int
}

// Loop is how one run of a loop reports its turns. Reports of a run that was given up do not count.
type Loop struct {
	post    *post
	stalled chan struct{} // closed when the run stalls

	// guarded by post.mu
	turns int
	timer *time.Timer
}

// begin begins a run of the loop: the first one, or one that replaces a stalled run.
func (p *post) begin() *Loop {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &Loop{post: p, stalled: make(chan struct{})}
	switch before := p.present; {
	case before == nil:
	case before.turns > 1:
		p.restarts, p.patience = p.restarts+1, Patience
	default:
		p.restarts, p.patience = p.restarts+1, min(2*p.patience, patienceMost)
	}
	p.present = l
	l.expect(p.patience, l.doubt)
	return l
}

// Tick reports that a turn begins, and that the one before has ended.
func (l *Loop) Tick() { l.turn(l.post.dog.clock.Now(), 0, true) }

// Rest reports that a turn has ended, and that the next one begins after pause.
func (l *Loop) Rest(pause time.Duration) { l.turn(l.post.dog.clock.Now(), pause, true) }

// Idle reports that a turn has ended, and that the next one begins when there is work.
func (l *Loop) Idle() { l.turn(l.post.dog.clock.Now(), 0, false) }

// End reports that the loop has ended. Only a loop that the watchdog does not run calls it.
func (l *Loop) End() { l.post.dog.forget(l.post) }

func (l *Loop) turn(now time.Time, pause time.Duration, expected bool) {
	p := l.post
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.present != l {
		return
	}
	// A replacement run has to end a turn: the stalled one could begin one, too.
	if l.turns++; p.stalled && (p.restarts == 0 || l.turns > 1) {
		p.stalled = false
		p.dog.log.Info("a background loop turns again", "loop", p.name)
	}
	if !p.stalled {
		p.turned = now
	}
	l.timer.Stop()
	if expected {
		l.expect(pause+p.patience, l.doubt)
	}
}

// expect calls otherwise unless the loop reports within limit. The caller holds the lock.
func (l *Loop) expect(limit time.Duration, otherwise func()) {
	var timer *time.Timer
	armed := make(chan struct{})
	timer = time.AfterFunc(limit, func() {
		<-armed
		l.post.mu.Lock()
		defer l.post.mu.Unlock()
		if l.timer == timer && l.post.present == l {
			otherwise()
		}
	})
	l.timer = timer
	close(armed)
}

// doubt gives a loop that seems to stall time to prove that it does not.
func (l *Loop) doubt() { l.expect(confirmation, l.accuse) }

// accuse records that the loop has stalled.
func (l *Loop) accuse() {
	p := l.post
	p.stalled = true
	p.dog.log.Error("a background loop stands still", "loop", p.name, "since", p.turned.UTC(), "started_anew", p.restarts)
	select {
	case <-l.stalled: // It has stalled before.
	default:
		close(l.stalled)
	}
}

func (p *post) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.present.timer.Stop()
	p.present = nil
}

func (p *post) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{Name: p.name, Ticked: p.turned, Stalled: p.stalled, Restarts: p.restarts}
}
