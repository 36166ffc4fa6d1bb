// Package watchdog notices when something that works in the background stands still, says so, and
// starts it anew. It knows names and times, and nothing of the work.
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
	// Hopeless is how long a loop stands still before only a restart of the process helps.
	Hopeless = 10 * time.Minute

	// confirmation is how long a loop that seems to stand still has to prove that it does not:
	// after a process was paused, all of its loops seem to.
	confirmation = 10 * time.Second
	// leaving is how long a loop that was given up has to end. After that it is left behind.
	leaving = 5 * time.Second
	// patienceMost bounds the patience with a loop that was started anew and did not turn. It
	// doubles each time, so that a turn that only takes long gets to its end, and few goroutines
	// are left behind.
	patienceMost = 16 * Patience
)

// Watchdog watches loops. It is safe for concurrent use.
type Watchdog struct {
	clock ports.Clock
	log   *slog.Logger

	mu    sync.Mutex
	posts map[*post]bool
}

// State is how a loop is doing.
type State struct {
	Name   string
	Turned time.Time // when it turned last
	Still  bool      // it stands still
	Anew   int       // how often it was started anew
}

// New returns a watchdog without loops.
func New(clock ports.Clock, log *slog.Logger) *Watchdog {
	return &Watchdog{clock: clock, log: log, posts: map[*post]bool{}}
}

// Run runs a loop until ctx ends, and starts it anew when it stands still: its context ends, and
// one that does not heed that is left behind. So a loop must bear that another one of it runs
// beside. It marks its turns with the Loop that it is given.
func (w *Watchdog) Run(ctx context.Context, name string, loop func(ctx context.Context, turns *Loop)) {
	p := w.watch(name)
	defer w.forget(p)
	for {
		l := p.begin()
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
		case <-l.still:
		}
		stop()
		wait(ended, leaving)
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

// Watch watches a loop that cannot be started anew, until its End.
func (w *Watchdog) Watch(name string) *Loop { return w.watch(name).begin() }

func (w *Watchdog) watch(name string) *post {
	p := &post{dog: w, name: name, turned: w.clock.Now(), patience: Patience}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts[p] = true
	return p
}

func (w *Watchdog) forget(p *post) {
	p.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.posts, p)
}

// Loops returns how the loops are doing, by name.
func (w *Watchdog) Loops() []State {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]State, 0, len(w.posts))
	for p := range w.posts {
		all = append(all, p.state())
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.Turned.Compare(b.Turned)) })
	return all
}

// Turning returns nil unless a loop stands still.
func (w *Watchdog) Turning() error { return w.still(0) }

// Alive returns nil unless a loop has stood still for so long that only a restart helps.
func (w *Watchdog) Alive() error { return w.still(Hopeless) }

// namesMost is how many loops are named by one error.
const namesMost = 3

// still returns an error when loops have stood still, and have not turned for so long.
func (w *Watchdog) still(limit time.Duration) error {
	var names []string
	now := w.clock.Now()
	for _, s := range w.Loops() {
		if s.Still && now.Sub(s.Turned) >= limit {
			names = append(names, fmt.Sprintf("%s (since %s)", s.Name, s.Turned.UTC().Format(time.DateTime)))
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := strings.Join(names[:min(len(names), namesMost)], ", ")
	if more := len(names) - namesMost; more > 0 {
		text += fmt.Sprintf(" and %d others", more)
	}
	return fault.New(fault.Unavailable, "work stands still: "+text)
}
