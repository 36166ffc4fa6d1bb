package watchdog

import (
	"sync"
	"time"
)

// monitor watches a loop across all its runs.
type monitor struct {
	watchdog *Watchdog
	name     string

	mu       sync.Mutex
	current  *Loop
	patience time.Duration
	ticked   time.Time
	stalled  bool
	restarts int
}

// Loop is how one run of a loop reports its turns. Reports of a run that was given up do not count.
type Loop struct {
	monitor *monitor
	stalled chan struct{} // closed when the run stalls

	// guarded by post.mu
	ticks int
	timer *time.Timer
}

// begin begins a run of the loop: the first one, or one that replaces a stalled run.
func (p *monitor) begin() *Loop {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &Loop{monitor: p, stalled: make(chan struct{})}
	switch before := p.current; {
	case before == nil:
	case before.ticks > 1:
		p.restarts, p.patience = p.restarts+1, Patience
	default:
		p.restarts, p.patience = p.restarts+1, min(2*p.patience, maxPatience)
	}
	p.current = l
	l.expect(p.patience, l.suspect)
	return l
}

// Tick reports that a turn begins, and that the one before has ended.
func (l *Loop) Tick() { l.report(l.monitor.watchdog.clock.Now(), 0, true) }

// Rest reports that a turn has ended, and that the next one begins after pause.
func (l *Loop) Rest(pause time.Duration) { l.report(l.monitor.watchdog.clock.Now(), pause, true) }

// Idle reports that a turn has ended, and that the next one begins when there is work.
func (l *Loop) Idle() { l.report(l.monitor.watchdog.clock.Now(), 0, false) }

// End reports that the loop has ended. Only a loop that the watchdog does not run calls it.
func (l *Loop) End() { l.monitor.watchdog.forget(l.monitor) }

func (l *Loop) report(now time.Time, pause time.Duration, expected bool) {
	p := l.monitor
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != l {
		return
	}
	// A replacement run has to end a turn: the stalled one could begin one, too.
	if l.ticks++; p.stalled && (p.restarts == 0 || l.ticks > 1) {
		p.stalled = false
		p.watchdog.log.Info("a background loop runs again", "loop", p.name)
	}
	if !p.stalled {
		p.ticked = now
	}
	l.timer.Stop()
	if expected {
		l.expect(pause+p.patience, l.suspect)
	}
}

// expect calls otherwise unless the loop reports within limit. The caller holds the lock.
func (l *Loop) expect(limit time.Duration, otherwise func()) {
	var timer *time.Timer
	armed := make(chan struct{})
	timer = time.AfterFunc(limit, func() {
		<-armed
		l.monitor.mu.Lock()
		defer l.monitor.mu.Unlock()
		if l.timer == timer && l.monitor.current == l {
			otherwise()
		}
	})
	l.timer = timer
	close(armed)
}

// suspect gives a loop that seems to stall time to prove that it does not.
func (l *Loop) suspect() { l.expect(confirmation, l.markStalled) }

// markStalled records that the loop has stalled.
func (l *Loop) markStalled() {
	p := l.monitor
	p.stalled = true
	p.watchdog.log.Error("a background loop is stuck", "loop", p.name, "since", p.ticked.UTC(), "started_anew", p.restarts)
	select {
	case <-l.stalled: // It has stalled before.
	default:
		close(l.stalled)
	}
}

func (p *monitor) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current.timer.Stop()
	p.current = nil
}

func (p *monitor) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{Name: p.name, Ticked: p.ticked, Stalled: p.stalled, Restarts: p.restarts}
}
