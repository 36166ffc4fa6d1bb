package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// prepared is a claimed delivery with what its message is made of, or why that is not to be had.
type prepared struct {
	job    deliveries.Job
	letter deliveries.Letter
	err    error
}

func (l *lane) prepare(ctx context.Context, j deliveries.Job) prepared {
	if j.Gates.Closed() != "" {
		return prepared{job: j}
	}
	key := letterKey{j.Occurrence, j.Notification, j.Template}
	letter, known := l.letters[key]
	if !known {
		var err error
		if letter, err = l.worker.queue.Letter(ctx, j.Occurrence, j.Notification, j.Template); err != nil {
			return prepared{job: j, err: err}
		}
		l.letters[key] = letter
	}
	return prepared{job: j, letter: letter}
}

// send makes one attempt at a delivery and notes what became of it.
func (l *lane) send(ctx context.Context, held *hold, p prepared) {
	out := deliveries.Outcome{ID: p.job.ID, Attempts: p.job.Attempts}
	if reason := p.job.Gates.Closed(); reason != "" {
		out.State, out.Reason = deliveries.Skipped, reason
		held.finish(out, false)
		return
	}
	if errors.Is(p.err, deliveries.ErrNotFound) {
		out.State, out.Reason = deliveries.Skipped, deliveries.NoTemplate
		held.finish(out, false)
		return
	}
	if p.err != nil || ctx.Err() != nil {
		return // Stays held and is given back at the end.
	}
	if rest := l.resting(); rest > 0 {
		held.finish(untried(p.job, l.worker.clock.Now().Add(rest)), false)
		return
	}
	message, err := l.worker.composer.Compose(p.letter, p.job)
	if err != nil {
		out.State, out.Error = deliveries.Failed, shortened("the template cannot be rendered: "+err.Error())
		held.finish(out, false)
		return
	}
	if !l.takeSlot(ctx) || !l.worker.records.acquire(ctx) {
		return
	}
	err = l.dispatch(ctx, message)
	held.finish(l.outcome(p.job, err), true)
}

// dispatch hands a message to the provider. An attempt that has begun is not cut short when the worker stops.
func (l *lane) dispatch(ctx context.Context, m deliveries.Message) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.worker.set.SendTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the driver panicked: %v", p)
		}
	}()
	return l.dispatcher.Dispatch(ctx, m)
}

// outcome reads the provider's answer: it moves the breaker and decides what becomes of the delivery.
func (l *lane) outcome(j deliveries.Job, err error) deliveries.Outcome {
	now := l.worker.clock.Now()
	out := deliveries.Outcome{ID: j.ID, Attempts: j.Attempts + 1}
	if err == nil {
		l.judge(nil, now)
		out.State = deliveries.Sent
		return out
	}
	failure := deliveries.FailureOf(err)
	l.judge(failure, now)
	out.State, out.Error = deliveries.Failed, shortened(failure.Error())
	if !failure.Temporary {
		return out
	}
	next, more := l.worker.set.Retry.Next(out.Attempts, j.Created, now, failure.RetryAfter, rand.Float64()) //nolint:gosec // Jitter is no secret.
	if more {
		out.State, out.Next = deliveries.Retrying, next
	}
	return out
}

func (l *lane) judge(f *deliveries.Failure, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f != nil && f.Channel {
		l.breaker.failed(now)
		return
	}
	l.breaker.passed()
}

// takeSlot waits until the channel's rate limit lets a message go; false when ctx ends first.
func (l *lane) takeSlot(ctx context.Context) bool {
	if l.limits.PerSecond <= 0 {
		return true
	}
	l.mu.Lock()
	now := l.worker.clock.Now()
	if l.slot.Before(now) {
		l.slot = now
	}
	wait := l.slot.Sub(now)
	l.slot = l.slot.Add(time.Duration(float64(time.Second) / l.limits.PerSecond))
	l.mu.Unlock()
	if wait > 0 {
		pause(ctx, wait, nil)
	}
	return ctx.Err() == nil
}

// untried gives a delivery back as it was, due at a moment.
func untried(j deliveries.Job, next time.Time) deliveries.Outcome {
	out := deliveries.Outcome{ID: j.ID, State: deliveries.Pending, Attempts: j.Attempts, Next: next}
	if j.Attempts > 0 {
		out.State = deliveries.Retrying
	}
	return out
}

// shortened keeps the beginning of a provider's answer.
func shortened(s string) string {
	if utf8.RuneCountInString(s) <= deliveries.MaxError {
		return s
	}
	return string([]rune(s)[:deliveries.MaxError-1]) + "…"
}

// hold is the deliveries that a lane has claimed and not finished. Their lease is renewed as long as they are held.
type hold struct {
	worker *Worker
	mu     sync.Mutex
	jobs   map[deliveries.ID]deliveries.Job
}

func newHold(w *Worker) *hold { return &hold{worker: w, jobs: map[deliveries.ID]deliveries.Job{}} }

func (h *hold) add(claimed []deliveries.Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range claimed {
		h.jobs[j.ID] = j
	}
}

func (h *hold) finish(o deliveries.Outcome, token bool) {
	h.mu.Lock()
	delete(h.jobs, o.ID)
	h.mu.Unlock()
	h.worker.records.note(o, token)
}

// release gives back what was not begun.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.worker.clock.Now()
	for _, j := range h.jobs {
		h.worker.records.note(untried(j, now), false)
	}
	clear(h.jobs)
}

// keep renews the lease of what is held until the returned function is called.
func (h *hold) keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // What is held when the worker stops is still held.
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(h.worker.set.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := h.worker.queue.Renew(ctx, h.worker.set.Owner, h.held(), h.worker.set.Lease); err != nil && ctx.Err() == nil {
					h.worker.log.Warn("leases could not be renewed", "error", err)
				}
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

func (h *hold) held() []deliveries.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]deliveries.ID, 0, len(h.jobs))
	for id := range h.jobs {
		ids = append(ids, id)
	}
	return ids
}
