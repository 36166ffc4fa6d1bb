// Package health knows whether this instance can do its work, and why not. It asks questions that
// others answer, such as whether the database takes writes, and knows neither the database nor who
// wants to know.
package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// Lifetime is how long the answers of an instance in use are valid: whoever asks more often, from
// however many machines, causes no more work.
const Lifetime = time.Second

// patience is how long a probe may take. Clients do not wait longer either.
const patience = 2 * time.Second

// The faults of an instance.
var (
	errDraining = fault.New(fault.Unavailable, "the instance is shutting down")
	errSlow     = fault.New(fault.Unavailable, fmt.Sprintf("there was no answer within %s", patience))
)

// Probe is a question about health.
type Probe struct {
	Name string
	Ask  func(ctx context.Context) error
	// Note tells what is worth knowing although the answer is yes; nil: nothing.
	Note func() string
}

// Check is a question about health and its answer.
type Check struct {
	Name string
	// Err is why the answer is no; nil when all is well. It may name hosts and users of the
	// installation, and is for operators.
	Err error
	// Note is what is worth knowing although the answer is yes, a sentence of ours.
	Note string
}

// Reason is what anybody may know of why the answer is no: a sentence of ours. When all is well it
// is the note.
func (c Check) Reason() string {
	if c.Err == nil {
		return c.Note
	}
	if known, ok := errors.AsType[*fault.Error](c.Err); ok && known.Kind() == fault.Unavailable {
		return known.Error()
	}
	return "it failed; the log says more"
}

// Health asks probes. It is safe for concurrent use.
type Health struct {
	ready    []*probe
	alive    Probe
	lifetime time.Duration
	clock    ports.Clock
	draining atomic.Bool

	mu     sync.Mutex
	latest *answers
}

// probe is a probe, and whether it was asked and did not answer yet.
type probe struct {
	Probe
	busy atomic.Bool
}

// answers are those to one round of questions.
type answers struct {
	asked  time.Time
	given  chan struct{} // closed when checks are complete
	checks []Check
}

// New returns the health of an instance that is alive while one probe says so, and ready while the
// others do. Their answers are valid for lifetime.
func New(clock ports.Clock, lifetime time.Duration, alive Probe, ready ...Probe) *Health {
	h := &Health{clock: clock, alive: alive, lifetime: lifetime}
	for _, p := range ready {
		h.ready = append(h.ready, &probe{Probe: p})
	}
	return h
}

// Drain makes the instance say that it is not ready, whatever the probes say: it is about to end.
func (h *Health) Drain() { h.draining.Store(true) }

// Draining reports whether the instance is about to end.
func (h *Health) Draining() bool { return h.draining.Load() }

// Ready returns nil when the instance can take requests, else why not.
func (h *Health) Ready(ctx context.Context) error { return Verdict(h.Report(ctx)) }

// Verdict returns nil when all is well, else the first check that failed.
func Verdict(report []Check) error {
	for _, c := range report {
		if c.Err != nil {
			return fmt.Errorf("%s: %w", c.Name, c.Err)
		}
	}
	return nil
}

// Alive returns nil unless nothing but a restart would help.
func (h *Health) Alive(ctx context.Context) error { return h.alive.Ask(ctx) }

// Report returns every question with its answer, those of the last second if there are any.
func (h *Health) Report(ctx context.Context) []Check {
	drained := Check{Name: "takes requests"}
	if h.Draining() {
		drained.Err = errDraining
	}
	a := h.round(ctx)
	select {
	case <-a.given:
		return append([]Check{drained}, a.checks...)
	case <-ctx.Done(): // The caller has gone, and reads nothing.
		return []Check{drained, {Name: "answers", Err: ctx.Err()}}
	}
}

// round returns the answers that are valid, or asks. Those who ask at the same time share the
// answers.
func (h *Health) round(ctx context.Context) *answers {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.latest != nil && (!h.latest.complete() || h.clock.Now().Sub(h.latest.asked) < h.lifetime) {
		return h.latest
	}
	a := &answers{asked: h.clock.Now(), given: make(chan struct{}), checks: make([]Check, len(h.ready))}
	h.latest = a
	go a.ask(context.WithoutCancel(ctx), h.ready)
	return a
}

func (a *answers) complete() bool {
	select {
	case <-a.given:
		return true
	default:
		return false
	}
}

// ask asks all probes at once. One that does not answer in time counts as failed, and is not asked
// again until it does.
func (a *answers) ask(ctx context.Context, probes []*probe) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results := make([]chan error, len(probes))
	for i, p := range probes {
		results[i] = make(chan error, 1)
		if !p.busy.CompareAndSwap(false, true) {
			results[i] <- errSlow
			continue
		}
		go func() {
			defer p.busy.Store(false)
			results[i] <- p.Ask(ctx)
		}()
	}
	for i, p := range probes {
		a.checks[i] = Check{Name: p.Name, Err: answer(ctx, results[i])}
		if p.Note != nil {
			a.checks[i].Note = p.Note()
		}
	}
	close(a.given)
}

// answer waits for the answer of a probe. An answer that came in time counts, even when it is
// looked at later.
func answer(ctx context.Context, result <-chan error) error {
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		select {
		case err = <-result:
		default:
			return errSlow
		}
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	return err
}
