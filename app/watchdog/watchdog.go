// Package watchdog detects background loops that stall, reports them, and restarts them. It knows
// names and times, and of the work only whether it fails.
package watchdog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

const (
	// Patience is how long a loop may take for one turn.
	Patience = time.Minute
	// StallLimit is how long a loop stalls before only a restart of the process helps.
	StallLimit = 10 * time.Minute

	// confirmation is how long a loop that seems to stall has to prove that it does not: after a
	// pause of the process all of its loops seem to stall.
	confirmation = 10 * time.Second
	// stopTimeout is how long a loop that was given up has to end. After that it is abandoned.
	stopTimeout = 5 * time.Second
	// maxPatience bounds the patience with a restarted loop that did not turn. The patience
	// doubles each time, so that a long turn can end, and few goroutines are abandoned.
	maxPatience = 16 * Patience
)

// Watchdog watches loops. It is safe for concurrent use.
type Watchdog struct {
	clock ports.Clock
	log   *slog.Logger

	mu       sync.Mutex
	monitors map[*monitor]bool
}

// State is the state of a loop.
type State struct {
	Name     string
	Ticked   time.Time // when it last turned
	Stalled  bool      // it has stalled
	Restarts int       // how often it was restarted
}

// New returns a watchdog without loops.
func New(clock ports.Clock, log *slog.Logger) *Watchdog {
	return &Watchdog{clock: clock, log: log, monitors: map[*monitor]bool{}}
}

// Run runs a loop until ctx ends, and restarts it when it stalls: its context ends, and a run that
// ignores that is abandoned. So a loop must tolerate a second, concurrent run. It reports its turns
// with the Loop that it gets.
func (w *Watchdog) Run(ctx context.Context, name string, loop func(ctx context.Context, turns *Loop)) {
	m := w.watch(name)
	defer w.forget(m)
	for {
		l := m.begin()
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			loop(running, l)
		}()
		select {
		case <-ended:
			stop()
			return
		case <-l.stalled:
		}
		stop()
		wait(ended, stopTimeout)
		if ctx.Err() != nil {
			return
		}
	}
}

func wait(ended <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// Watch watches a loop that cannot be restarted, until its End.
func (w *Watchdog) Watch(name string) *Loop { return w.watch(name).begin() }

func (w *Watchdog) watch(name string) *monitor {
	m := &monitor{watchdog: w, name: name, ticked: w.clock.Now(), patience: Patience}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.monitors[m] = true
	return m
}

func (w *Watchdog) forget(m *monitor) {
	m.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.monitors, m)
}

// Loops returns the states of the loops, by name.
func (w *Watchdog) Loops() []State {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]State, 0, len(w.monitors))
	for m := range w.monitors {
		all = append(all, m.state())
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.Ticked.Compare(b.Ticked)) })
	return all
}

// CheckStalled returns an error if a loop has stalled.
func (w *Watchdog) CheckStalled() error { return w.stalled(0) }

// CheckAlive returns an error if a loop has stalled for so long that only a restart helps.
func (w *Watchdog) CheckAlive() error { return w.stalled(StallLimit) }

// maxNames is how many loops an error names.
const maxNames = 3

// stalled returns an error when loops have stalled and have not turned for at least limit.
func (w *Watchdog) stalled(limit time.Duration) error {
	var names []string
	now := w.clock.Now()
	for _, s := range w.Loops() {
		if s.Stalled && now.Sub(s.Ticked) >= limit {
			names = append(names, fmt.Sprintf("%s (since %s)", s.Name, s.Ticked.UTC().Format(time.DateTime)))
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := strings.Join(names[:min(len(names), maxNames)], ", ")
	if more := len(names) - maxNames; more > 0 {
		text += fmt.Sprintf(" and %d others", more)
	}
	return fault.New(fault.Unavailable, "a background loop is stuck: "+text)
}
