package watchdog

import (
	"context"
	"errors"
	"slices"
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
	failure  failure
}

// failure is a row of turns that failed.
type failure struct {
	turns  int
	since  time.Time
	text   string    // the latest error that was logged
	logged time.Time // when it was logged
}

// How often errors that occur turn after turn are logged.
const (
	failureInterval = time.Minute      // the same one
	failureChange   = 10 * time.Second // others: some name a connection, and differ each time
)

// Loop is how one run of a loop reports its turns. Reports of a run that was given up do not count.
type Loop struct {
	monitor *monitor
	stalled chan struct{} // closed when the run stalls

	// guarded by monitor.mu
	ticks int
	timer *time.Timer
}

// begin begins a run of the loop: the first one, or one that replaces a stalled run.
func (m *monitor) begin() *Loop {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &Loop{monitor: m, stalled: make(chan struct{})}
	switch before := m.current; {
	case before == nil:
	case before.ticks > 1:
		m.restarts, m.patience = m.restarts+1, Patience
	default:
		m.restarts, m.patience = m.restarts+1, min(2*m.patience, maxPatience)
	}
	m.current = l
	l.expect(m.patience, l.suspect)
	return l
}

// Tick reports that a turn begins, and that the one before has ended.
func (l *Loop) Tick() { l.report(l.monitor.watchdog.clock.Now(), 0, true) }

// Pause reports that a turn has ended, and that the next one begins after pause.
func (l *Loop) Pause(pause time.Duration) { l.report(l.monitor.watchdog.clock.Now(), pause, true) }

// Idle reports that a turn has ended, and that the next one begins when there is work.
func (l *Loop) Idle() { l.report(l.monitor.watchdog.clock.Now(), 0, false) }

// Result reports how the work of a turn ended. It logs an error that differs from the one before
// after failureChange, and the same one after failureInterval; and when a turn succeeds again. What
// says what failed. An expected error is no failure, and neither is one after the end of ctx.
func (l *Loop) Result(ctx context.Context, what string, err error, expected ...error) {
	if ctx.Err() != nil {
		return
	}
	if slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }) {
		err = nil
	}
	m := l.monitor
	m.mu.Lock()
	defer m.mu.Unlock()
	now, f := m.watchdog.clock.Now(), &m.failure
	if err == nil {
		if f.turns > 0 && !f.logged.Before(f.since) {
			m.watchdog.log.Info("a background loop works again", "loop", m.name, "failing_since", f.since.UTC(), "failures", f.turns)
		}
		f.turns = 0
		return
	}
	if f.turns++; f.turns == 1 {
		f.since = now
	}
	text, ago := err.Error(), now.Sub(f.logged)
	if changed := f.text != text; changed && (f.turns == 1 || ago >= failureChange) || ago >= failureInterval {
		f.text, f.logged = text, now
		m.watchdog.log.Error(what, "error", err, "loop", m.name, "failing_since", f.since.UTC(), "failures", f.turns)
	}
}

// End reports that the loop has ended. Only a loop that the watchdog does not run calls it.
func (l *Loop) End() { l.monitor.watchdog.forget(l.monitor) }

func (l *Loop) report(now time.Time, pause time.Duration, expected bool) {
	m := l.monitor
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != l {
		return
	}
	// A replacement run has to end a turn: the stalled one could begin one, too.
	if l.ticks++; m.stalled && (m.restarts == 0 || l.ticks > 1) {
		m.stalled = false
		m.watchdog.log.Info("a background loop runs again", "loop", m.name)
	}
	if !m.stalled {
		m.ticked = now
	}
	l.timer.Stop()
	if expected {
		l.expect(pause+m.patience, l.suspect)
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
	m := l.monitor
	m.stalled = true
	m.watchdog.log.Error("a background loop is stuck", "loop", m.name, "since", m.ticked.UTC(), "restarts", m.restarts)
	select {
	case <-l.stalled: // It has stalled before.
	default:
		close(l.stalled)
	}
}

func (m *monitor) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current.timer.Stop()
	m.current = nil
}

func (m *monitor) state() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return State{Name: m.name, Ticked: m.ticked, Stalled: m.stalled, Restarts: m.restarts}
}
