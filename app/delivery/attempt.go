package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// start begins an attempt at a delivery. It waits until the channel's limits and the organization's
// share of slots allow one. A delivery that needs no attempt, or may have none now, is finished or
// parked instead. jobs are the deliveries that follow it.
func (s *sender) start(ctx context.Context, held *claims, j deliveries.Job, jobs *jobQueue, attempts *sync.WaitGroup) {
	if reason := j.Gates.Closed(); reason != "" {
		held.finish(s.gateClosed(j, reason), nil)
		return
	}
	if out, ended := s.worker.ended(j); ended {
		held.finish(out, nil)
		return
	}
	for ctx.Err() == nil { // Deliveries not begun when ctx ends stay held and are released at the end.
		now := s.worker.clock.Now()
		if s.worker.set.Paused() {
			held.finish(postponedUntried(j, now.Add(max(s.pauseLeft(), s.worker.set.Poll))), nil)
			return
		}
		if s.pauseLeft() > 0 {
			held.finish(s.handOver(j, postponedUntried(j, now.Add(s.pauseDelay())), s.pauseReason()), nil)
			return
		}
		switch verdict, off := s.targets.offer(s.target(j), j, jobs.targets(s.target), now); verdict {
		case parked:
			return
		case postponed:
			s.putOff(held, off, now)
			return
		case mustWait:
			if s.limits.Shared && s.targets.full(now) {
				s.noteThrottled(now)
			}
			if _, worth := s.awaitShare(ctx); !worth {
				held.finish(postponedUntried(j, now), nil)
				return
			}
			pace.Pause(ctx, targetStalled/4, s.targets.changed)
			continue
		case admitted:
		}
		if free := s.acquireSlot(ctx, held); free || ctx.Err() == nil {
			attempts.Go(func() { s.attempt(ctx, held, j, free) })
		}
		return
	}
}

// acquireSlot waits until the rate limit and the organization's share allow an attempt. It reports
// false when ctx ends first, or when the rate limit allows none soon.
func (s *sender) acquireSlot(ctx context.Context, held *claims) bool {
	return s.waitForRate(ctx, held) && s.worker.attempts.acquire(ctx, s.ref)
}

// attempt tries to send a delivery, and then the deliveries that were parked meanwhile. Those for
// which no slot is free go back to the queue.
func (s *sender) attempt(ctx context.Context, held *claims, j deliveries.Job, free bool) {
	for {
		answer := noAttempt
		if free {
			held.begin(j.ID)
			answer = s.send(ctx, held, j)
		} else {
			held.finish(postponedUntried(j, s.worker.clock.Now()), nil)
		}
		now := s.worker.clock.Now()
		end := s.targets.end(s.target(j), answer, now)
		s.logHost(s.target(j), answer, end)
		for _, off := range end.postponed {
			s.putOff(held, off, now)
		}
		if !end.more {
			return
		}
		if free = s.acquireSlot(ctx, held); !free && ctx.Err() != nil {
			return
		}
		j = end.next
	}
}

// putOff finishes a delivery that is postponed, or has failed, because of its host.
func (s *sender) putOff(held *claims, p postponement, now time.Time) {
	out := p.outcome(now, s.worker.storeNow(), s.worker.set.Retry.For)
	s.meterUntried(out)
	s.logFailed(events.Occurrence{}, p.job, deliveries.Message{}, out, deliveries.Unanswered("%s", p.reason))
	held.finish(out, nil)
}

// send makes one attempt at a delivery and records its outcome. The caller holds a slot, which
// goes to the recorder.
func (s *sender) send(ctx context.Context, held *claims, j deliveries.Job) targetResult {
	in, err := s.cache.get(ctx, j)
	switch {
	case errors.Is(err, deliveries.ErrNotFound):
		held.finish(skipped(j, deliveries.NoTemplate), &s.ref)
		return noAttempt
	case err != nil && ctx.Err() != nil:
		s.worker.attempts.release(s.ref)
		return noAttempt
	case err != nil:
		s.worker.log.Error("a message could not be rendered", "delivery", int64(j.ID), "error", err)
		held.finish(s.worker.untilPoll(j), &s.ref)
		return noAttempt
	}
	if out, ended := s.worker.ended(j); ended {
		held.finish(out, &s.ref)
		return noAttempt
	}
	if s.worker.set.Paused() {
		held.finish(s.worker.untilPoll(j), &s.ref)
		return noAttempt
	}
	message, err := Compose(s.worker.composer, in, j)
	if err != nil {
		failure := deliveries.Refused("the template cannot be rendered: %w", err)
		out := deliveries.Outcome{ID: j.ID, State: deliveries.Failed, Attempts: j.Attempts, Error: shortened(failure.Error())}
		s.meterUntried(out)
		s.logFailed(in.Occurrence, j, message, out, failure)
		held.finish(out, &s.ref)
		return noAttempt
	}
	if ctx.Err() != nil {
		s.worker.attempts.release(s.ref)
		return noAttempt
	}
	// The store was down or slow for so long that another worker may have the delivery or the
	// slot.
	if !held.holds(j.ID) || s.targets.tooMany(s.worker.clock.Now()) {
		s.worker.attempts.release(s.ref)
		held.finish(s.worker.untilPoll(j), nil) // If no other worker has it, it does not wait for the end of the lease.
		return noAttempt
	}
	taken, more, err := s.takeQuota(ctx)
	if !more {
		back := s.worker.untilPoll(j)
		if err == nil {
			back = s.handOver(j, back, channels.LimitReached)
		} else {
			s.worker.log.Error("the quota of a channel could not be read", "channel", int64(s.ref.channel), "error", err)
		}
		held.finish(back, &s.ref)
		return noAttempt
	}
	in.Occurrence.Context, in.Occurrence.Options = nil, events.Options{} // The attempt may take long and does not need them.
	return s.deliver(ctx, held, in.Occurrence, j, message, taken)
}

// deliver hands a rendered message to the provider and records the outcome. taken is the day that
// the attempt counts for in the quota of the channel.
func (s *sender) deliver(
	ctx context.Context, held *claims, o events.Occurrence, j deliveries.Job, message deliveries.Message, taken time.Time,
) targetResult {
	s.started.Add(1)
	began := s.worker.clock.Now()
	attempting, span := s.beginSpan(ctx, held, o, j)
	if own := span.Traceparent(); own != "" {
		message.Traceparent = own
	}
	if s.target(j) == "" { // Else the server is the recipient's.
		attempting = deliveries.WatchCertificates(attempting, func(ends time.Time) { s.worker.certificates.record(s.ref.channel, ends, s.worker.clock.Now()) })
	}
	err := s.dispatch(attempting, message)
	s.refundQuota(taken, err)
	unsent := err != nil && deliveries.FailureOf(err).Unsent
	if s.pool.size() > 1 && !unsent {
		s.worker.queue.RecordAnswer(s.ref.channel, err != nil && deliveries.FailureOf(err).Channel, s.worker.clock.Now().Sub(began))
	}
	out := s.outcome(j, err)
	span.Text("tocsin.delivery.state", string(out.State))
	span.End(err != nil)
	s.meter(j, out, began)
	s.logFailed(o, j, message, out, err)
	held.finish(out, &s.ref)
	if !unsent {
		s.reportHealth(ctx)
	}
	return resultFor(j, err)
}

// resultFor returns what an attempt says about the host that the delivery goes to.
func resultFor(j deliveries.Job, err error) targetResult {
	if err == nil {
		return responded
	}
	switch failure := deliveries.FailureOf(err); {
	case failure.Unsent:
		return noAttempt
	case failure.Target:
		return notResponding(shortened(withoutAddress(j, failure.Error())))
	}
	return responded
}

// beginSpan begins the span of an attempt, a child of the request that triggered it and linked to
// the claim.
func (s *sender) beginSpan(ctx context.Context, held *claims, o events.Occurrence, j deliveries.Job) (context.Context, ports.Span) {
	attempting, span := s.worker.set.Tracer.Begin(ctx, ports.SpanStart{Name: "send " + string(s.protocol), Kind: ports.SpanClient,
		Parent: o.Traceparent, Links: []string{held.trace(j.ID)}})
	if span.Recorded() {
		span.Number("tocsin.delivery", int64(j.ID))
		span.Number("tocsin.occurrence", int64(o.ID))
		span.Number("tocsin.channel", int64(s.ref.channel))
		span.Number("tocsin.delivery.attempts", int64(j.Attempts)+1)
	}
	return attempting, span
}

// meter reports an attempt to the meter.
func (s *sender) meter(j deliveries.Job, o deliveries.Outcome, began time.Time) {
	a := Attempt{Protocol: s.protocol, Became: o.State, Took: s.worker.clock.Now().Sub(began)}
	if j.Attempts == 0 {
		a.Waited = began.Sub(s.created(j))
	}
	s.worker.set.Meter.Attempted(a)
}

// meterUntried reports a delivery that has failed without an attempt.
func (s *sender) meterUntried(o deliveries.Outcome) {
	if o.State == deliveries.Failed {
		s.worker.set.Meter.Attempted(Attempt{Protocol: s.protocol, Became: o.State, Untried: true})
	}
}

// created returns when a delivery was created, by this machine's clock.
func (s *sender) created(j deliveries.Job) time.Time { return j.Created.Add(s.worker.Skew()) }

// target is the host that a delivery goes to; empty when all go to the channel's provider.
func (s *sender) target(j deliveries.Job) string { return deliveries.Target(s.protocol, j.Address) }

// abandonAfter is how long dispatch waits for a driver after its deadline.
const abandonAfter = time.Second

// errAbandoned is the failure of an attempt whose driver ignores its deadline.
var errAbandoned = deliveries.Unreachable("the attempt did not end in time").WithMaybeAccepted(true)

// dispatch hands a message to the provider. An attempt that has begun is not cut short when the
// worker stops. An attempt whose driver ignores its deadline is abandoned, so that it does not hold
// its slot forever.
func (s *sender) dispatch(ctx context.Context, m deliveries.Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.worker.set.SendTimeout)
	answer := make(chan error, 1)
	dispatcher := s.dispatcher
	go func() {
		defer cancel()
		answer <- dispatcher.Dispatch(ctx, m)
	}()
	abandon := time.NewTimer(s.worker.set.SendTimeout + abandonAfter)
	defer abandon.Stop()
	select {
	case err := <-answer:
		return err
	case <-abandon.C:
		return errAbandoned
	}
}

// outcome evaluates the provider's answer: it updates the breaker and decides the state of the
// delivery.
func (s *sender) outcome(j deliveries.Job, err error) deliveries.Outcome {
	now := s.worker.clock.Now()
	out := deliveries.Outcome{ID: j.ID, Attempts: j.Attempts + 1}
	if err == nil {
		s.updateBreaker(j, nil, now)
		out.State = deliveries.Sent
		return out
	}
	failure := deliveries.FailureOf(err)
	s.updateBreaker(j, failure, now)
	out.State, out.Error = deliveries.Failed, shortened(failure.Error())
	if !failure.Temporary {
		return out
	}
	after := failure.RetryAfter
	if failure.Channel {
		after = 0 // The breaker pauses the channel, and messages wait for it without losing attempts.
	}
	next, more := s.worker.set.Retry.Next(out.Attempts, s.created(j), now, after, rand.Float64()) //nolint:gosec // Jitter is no secret.
	if !more {
		out.Error = outOfTime(failure.Error())
		return out
	}
	out.State, out.Next = deliveries.Retrying, next
	return s.failOver(j, out, failure)
}

// outOfTime is the error of a temporary failure after which no attempt is left.
func outOfTime(failure string) string {
	const format = "%s (no attempt is left within retry_for)"
	return fmt.Sprintf(format, shortenedTo(failure, deliveries.MaxError+len("%s")-len(format)))
}

// gateClosed is the outcome of a delivery that a gate stops. If only its channel is inactive,
// another channel of the pool takes it, or it waits until one is back. Without such a pool, the
// channel of its assignment takes it. A delivery that the inactive channel's provider may already
// have goes later, as after a failure of the channel.
func (s *sender) gateClosed(j deliveries.Job, reason deliveries.Reason) deliveries.Outcome {
	if reason != deliveries.ChannelInactive {
		return skipped(j, reason)
	}
	now := s.worker.clock.Now()
	o := postponedUntried(j, now)
	o.To = s.pool.successor(s.ref.channel, j, now)
	wait, some := s.pool.nextReturn(s.ref.channel, j, now)
	if o.To == 0 && !some {
		o.To = j.Assigned
	}
	switch {
	case o.To != 0:
		o.Why = channels.Deactivated
		if j.MaybeAccepted {
			o.Next = now.Add(deliveries.MaybeAcceptedFor)
		}
	case some:
		o.Next = now.Add(wait)
	default:
		return skipped(j, reason)
	}
	return o
}

// updateBreaker updates the breaker. A failure that is not the channel's shows that the channel
// works, unless the message was not sent.
func (s *sender) updateBreaker(j deliveries.Job, f *deliveries.Failure, now time.Time) {
	if f != nil && f.Unsent {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.breaker
	defer func() { s.logPause(before) }()
	if f != nil && f.Channel {
		s.breaker.failed(now)
		if f.RetryAfter > 0 {
			s.breaker.requestPause(now, f.RetryAfter)
		}
		s.failure = shortened(withoutAddress(j, f.Error()))
		return
	}
	s.breaker.succeeded(now)
}

// postponedUntried returns a delivery unchanged, due at next.
func postponedUntried(j deliveries.Job, next time.Time) deliveries.Outcome {
	out := deliveries.Outcome{ID: j.ID, State: deliveries.Pending, Attempts: j.Attempts, Next: next}
	if j.Attempts > 0 {
		out.State = deliveries.Retrying
	}
	return out
}

// untilPoll is the outcome of a delivery that was not tried and is due again at the next poll.
func (w *Worker) untilPoll(j deliveries.Job) deliveries.Outcome {
	return postponedUntried(j, w.clock.Now().Add(w.set.Poll))
}

// skipped is the outcome of a delivery that must not be sent.
func skipped(j deliveries.Job, reason deliveries.Reason) deliveries.Outcome {
	return deliveries.Outcome{ID: j.ID, State: deliveries.Skipped, Reason: reason, Attempts: j.Attempts}
}

// shortened keeps the beginning of a provider's answer.
func shortened(s string) string { return shortenedTo(s, deliveries.MaxError) }

// shortenedTo keeps at most so many characters of a provider's answer.
func shortenedTo(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
