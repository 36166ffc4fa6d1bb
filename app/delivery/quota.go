package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// quotaRecheck is how often the store is asked whether an exhausted quota has something left again,
// returned by another instance.
const quotaRecheck = time.Minute

// quota is what a sender may send of its channel's quota. It takes portions from the store, so that
// an attempt costs no statement of its own.
type quota struct {
	mu        sync.Mutex // One attempt asks, and the others wait for the answer.
	allowance channels.Allowance
	retryAt   time.Time // nothing was left, or the store failed: it is asked again then

	failed   error // why the store failed; nil: it answered
	failures int   // in a row
}

// ensureQuota makes sure that something is left of the channel's quota, if it has one; else the
// channel is paused.
func (s *sender) ensureQuota(ctx context.Context) error {
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	return s.refill(ctx)
}

// takeQuota takes one attempt from the channel's quota, if it has one, and returns the day that it
// counts for. It reports false when none is left.
func (s *sender) takeQuota(ctx context.Context) (taken time.Time, more bool, err error) {
	if s.limits.Quota.None() {
		return taken, true, nil
	}
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	if err := s.refill(ctx); err != nil || s.quota.allowance.Left == 0 {
		return taken, false, err
	}
	s.quota.allowance.Left--
	return s.quota.allowance.Taken, true, nil
}

// refundQuota returns an attempt whose message the provider cannot have accepted, because the
// channel failed or the driver refused the message.
func (s *sender) refundQuota(taken time.Time, err error) {
	if err == nil || s.limits.Quota.None() {
		return
	}
	if f := deliveries.FailureOf(err); !f.Unsent && (!f.Channel || f.MaybeAccepted) {
		return
	}
	q := &s.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.allowance.OfDay(taken) {
		return
	}
	if q.allowance.Left == 0 { // Others may wait for it.
		q.allowance.Until = time.Time{}
	}
	q.allowance.Left++
}

// refill takes another portion when none is left or when the day of the last one is over. When the
// store fails it is unknown what was taken and returned: the portion is forgotten, and the pauses
// between such calls double. The caller holds the quota's lock.
func (s *sender) refill(ctx context.Context) error {
	q, now := &s.quota, s.worker.clock.Now()
	over := !s.worker.storeNow().Before(q.allowance.Until)
	if s.limits.Quota.None() || !over && (q.allowance.Left > 0 || now.Before(q.retryAt)) {
		return nil
	}
	if q.failed != nil && now.Before(q.retryAt) {
		return q.failed
	}
	// The portion is kept even when the worker stops meanwhile: the rest is returned at the end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	has, err := s.worker.queue.TakeQuota(ctx, s.ref.channel, s.limits.Quota, s.limits.Quota.Portion(), q.allowance)
	if err != nil {
		q.allowance, q.failed, q.retryAt = channels.Allowance{}, err, now.Add(min(time.Second<<min(q.failures, 6), quotaRecheck))
		q.failures++
		return err
	}
	q.allowance, q.retryAt, q.failed, q.failures = has, time.Time{}, nil, 0
	var usedUp time.Time
	if has.Left == 0 {
		q.retryAt, usedUp = now.Add(quotaRecheck), now.Add(has.Until.Sub(s.worker.storeNow()))
	}
	s.mu.Lock()
	was := s.usedUp
	s.usedUp = usedUp
	s.mu.Unlock()
	if was.IsZero() && !usedUp.IsZero() {
		s.worker.log.Warn("a channel is paused, because its quota is used up", "organization", int64(s.ref.organization), "channel", int64(s.ref.channel),
			"until", has.Until.UTC())
	}
	return nil
}

// renewQuota asks the store again, because the quota may have changed.
func (s *sender) renewQuota(ctx context.Context) {
	if s.limits.Quota.None() {
		s.returnQuota(ctx)
	}
	s.quota.mu.Lock()
	s.quota.allowance.Until = time.Time{}
	s.quota.mu.Unlock()
	s.mu.Lock()
	s.usedUp = time.Time{}
	s.mu.Unlock()
}

// returnQuota returns what is left, because the sender ends or is idle, or the quota was removed.
// It also clears the mark that the quota is exhausted: no other sender may check it again. While
// sending is paused, nothing is changed.
func (s *sender) returnQuota(ctx context.Context) {
	if s.worker.set.Paused() {
		return
	}
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	if s.quota.allowance.Taken.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	if _, err := s.worker.queue.TakeQuota(ctx, s.ref.channel, channels.Quota{}, 0, s.quota.allowance); err != nil {
		s.worker.log.Warn("the unused quota of a channel could not be given back", "channel", int64(s.ref.channel), "error", err)
	}
	s.quota.allowance = channels.Allowance{}
}
