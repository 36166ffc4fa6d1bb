package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// send makes one attempt at a delivery and notes what became of it.
func (l *lane) send(ctx context.Context, held *hold, j deliveries.Job) {
	out := deliveries.Outcome{ID: j.ID, Attempts: j.Attempts}
	if reason := j.Gates.Closed(); reason != "" {
		out.State, out.Reason = deliveries.Skipped, reason
		held.finish(out, false)
		return
	}
	if ctx.Err() != nil {
		return // Stays held and is given back at the end.
	}
	if rest := l.resting(); rest > 0 {
		held.finish(untried(j, l.worker.clock.Now().Add(rest)), false)
		return
	}
	letter, err := l.letters.of(ctx, j)
	switch {
	case errors.Is(err, deliveries.ErrNotFound):
		out.State, out.Reason = deliveries.Skipped, deliveries.NoTemplate
		held.finish(out, false)
		return
	case err != nil && ctx.Err() != nil:
		return
	case err != nil:
		l.worker.log.Error("a message could not be put together", "delivery", int64(j.ID), "error", err)
		held.finish(untried(j, l.worker.clock.Now().Add(l.worker.set.Poll)), false)
		return
	}
	message, err := l.compose(letter, j)
	if err != nil {
		out.State, out.Error = deliveries.Failed, shortened("the template cannot be rendered: "+err.Error())
		held.finish(out, false)
		return
	}
	if !l.takeSlot(ctx) || !l.worker.records.acquire(ctx) {
		return
	}
	if !held.holds(j.ID) {
		l.worker.records.giveBack() // The store was away for so long that the delivery may be another worker's by now.
		return
	}
	err = l.dispatch(ctx, message)
	held.finish(l.outcome(j, err), true)
	l.tell(ctx)
}

// compose makes the message. Whatever goes wrong with it concerns this delivery alone.
func (l *lane) compose(letter deliveries.Letter, j deliveries.Job) (m deliveries.Message, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
		}
	}()
	return l.worker.composer.Compose(letter, j)
}

// dispatch hands a message to the provider. An attempt that has begun is not cut short when the worker stops.
func (l *lane) dispatch(ctx context.Context, m deliveries.Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.worker.set.SendTimeout)
	defer cancel()
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
		l.failure = shortened(f.Error())
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
	s = strings.ToValidUTF8(s, "\ufffd")
	if utf8.RuneCountInString(s) <= deliveries.MaxError {
		return s
	}
	return string([]rune(s)[:deliveries.MaxError-1]) + "…"
}
