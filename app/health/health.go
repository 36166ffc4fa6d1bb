// Package health reports whether this instance can do its work, and why not. It runs probes that
// others provide, such as whether the database takes writes, and knows neither the database nor its
// callers.
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

// Lifetime is how long the results of an instance in use are valid: more frequent requests, from
// any number of machines, cause no more work.
const Lifetime = time.Second

// probeTimeout is how long a probe may take. Clients do not wait longer either.
const probeTimeout = 2 * time.Second

// latestTimeout is how long Latest waits for probes. Probes of a working database take less.
const latestTimeout = 100 * time.Millisecond

// Errors of an instance.
var (
	errDraining = fault.New(fault.Unavailable, "the instance is shutting down")
	errSlow     = fault.New(fault.Unavailable, fmt.Sprintf("there was no answer within %s", probeTimeout))
)

// Probe is a check that can be run.
type Probe struct {
	Name string
	Ask  func(ctx context.Context) error
	// Note returns a remark on a probe that passed; nil: none.
	Note func() string
}

// Check is the result of a probe.
type Check struct {
	Name string
	// Err is why the probe failed; nil when it passed. It may name hosts and users of the
	// installation, and is for operators.
	Err error
	// Note is a remark on a probe that passed, in the program's own words.
	Note string
}

// Reason returns why the probe failed in words that every caller may see, or the note when it
// passed.
func (c Check) Reason() string {
	if c.Err == nil {
		return c.Note
	}
	if known, ok := errors.AsType[*fault.Error](c.Err); ok && known.Kind() == fault.Unavailable {
		return known.Error()
	}
	return "it failed; the log says more"
}

// Health runs probes. It is safe for concurrent use.
type Health struct {
	ready    []*probe
	alive    Probe
	lifetime time.Duration
	clock    ports.Clock
	draining atomic.Bool

	mu     sync.Mutex
	latest *answers
	before *answers // the last complete ones before latest; nil: none
}

// probe is a probe, and whether a run of it is under way.
type probe struct {
	Probe
	busy atomic.Bool
}

// answers are the results of one round of probes.
type answers struct {
	asked  time.Time
	given  chan struct{} // closed when checks are complete
	checks []Check
}

// New returns the health of an instance that is alive while one probe passes, and ready while the
// others do. Their results are valid for lifetime.
func New(clock ports.Clock, lifetime time.Duration, alive Probe, ready ...Probe) *Health {
	h := &Health{clock: clock, alive: alive, lifetime: lifetime}
	for _, p := range ready {
		h.ready = append(h.ready, &probe{Probe: p})
	}
	return h
}

// Drain makes the instance report that it is not ready, whatever its probes say, because it is
// about to end.
func (h *Health) Drain() { h.draining.Store(true) }

// Draining reports whether the instance is about to end.
func (h *Health) Draining() bool { return h.draining.Load() }

// Ready returns nil when the instance can take requests, or else why not.
func (h *Health) Ready(ctx context.Context) error { return Verdict(h.Report(ctx)) }

// Verdict returns nil when all checks passed, or else the first failure.
func Verdict(report []Check) error {
	for _, c := range report {
		if c.Err != nil {
			return fmt.Errorf("%s: %w", c.Name, c.Err)
		}
	}
	return nil
}

// Alive returns an error if only a restart would help.
func (h *Health) Alive(ctx context.Context) error { return h.alive.Ask(ctx) }

// Report returns the results of all probes. It reuses results that are younger than the lifetime of
// New.
func (h *Health) Report(ctx context.Context) []Check {
	drained := Check{Name: "takes requests"}
	if h.Draining() {
		drained.Err = errDraining
	}
	a := h.round(ctx)
	select {
	case <-a.given:
		return append([]Check{drained}, a.checks...)
	case <-ctx.Done(): // The caller is gone and reads nothing.
		return []Check{drained, {Name: "answers", Err: ctx.Err()}}
	}
}

// Latest returns the results of all probes like Report, but waits only a moment. Then it returns
// the results before; nil if there are none.
func (h *Health) Latest(ctx context.Context) []Check {
	a := h.round(ctx)
	wait := time.NewTimer(latestTimeout)
	defer wait.Stop()
	select {
	case <-a.given:
		return a.checks
	case <-wait.C:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.before == nil {
		return nil
	}
	return h.before.checks
}

// round returns the valid results, or runs the probes. Concurrent callers share the results.
func (h *Health) round(ctx context.Context) *answers {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.latest != nil && (!h.latest.complete() || h.clock.Now().Sub(h.latest.asked) < h.lifetime) {
		return h.latest
	}
	if h.latest != nil {
		h.before = h.latest
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

// ask runs all probes at once. A probe that does not answer in time counts as failed, and is not
// run again until it answers.
func (a *answers) ask(ctx context.Context, probes []*probe) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	results := make([]chan error, len(probes))
	for i, p := range probes {
		results[i] = make(chan error, 1)
		if !p.busy.CompareAndSwap(false, true) {
			results[i] <- errSlow
			continue
		}
		go func() {
			err := p.Ask(ctx)
			p.busy.Store(false) // The next round may begin as soon as the result is read.
			results[i] <- err
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

// answer waits for the result of a probe. A result that came in time counts, even if it is read
// later.
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
