package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// quotaLook is how often the store is asked whether a quota that was used up has something left
// again: what another instance took and gave back.
const quotaLook = time.Minute

// quota is what a sender may send of its channel's quota. It takes that from the store in portions,
// so that an attempt costs no statement of its own.
type quota struct {
	mu   sync.Mutex // One attempt asks, and the others wait for the answer.
	has  channels.Allowance
	look time.Time // nothing was left, or there was no answer: the store is asked again then

	failed   error // why there was no answer; nil: there was one
	failures int   // in a row
}

// stock sees to it that something is left to send of the channel's quota, if it has one; else the
// channel rests.
func (s *sender) stock(ctx context.Context) error {
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	return s.refill(ctx)
}

// allowed takes one attempt of the channel's quota, if it has one, and returns of when it is. It
// reports false when none is left.
func (s *sender) allowed(ctx context.Context) (taken time.Time, more bool, err error) {
	if s.limits.Quota.None() {
		return taken, true, nil
	}
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	if err := s.refill(ctx); err != nil || s.quota.has.Left == 0 {
		return taken, false, err
	}
	s.quota.has.Left--
	return s.quota.has.Taken, true, nil
}

// unused takes an attempt back that the provider knows nothing of, because the channel did not
// work.
func (s *sender) unused(taken time.Time, err error) {
	if err == nil || s.limits.Quota.None() {
		return
	}
	if f := deliveries.FailureOf(err); !f.Channel || f.Unsure {
		return
	}
	q := &s.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.has.OfDay(taken) {
		return
	}
	if q.has.Left == 0 { // Others may wait for it.
		q.has.Until = time.Time{}
	}
	q.has.Left++
}

// refill takes another portion where none is left, or what is left is of a day that is over. Where
// there is no answer, nobody knows what was taken and given back: that is forgotten, and the pauses
// between such calls double. The caller holds the quota's lock.
func (s *sender) refill(ctx context.Context) error {
	q, now := &s.quota, s.worker.clock.Now()
	over := !s.worker.storeNow().Before(q.has.Until)
	if s.limits.Quota.None() || !over && (q.has.Left > 0 || now.Before(q.look)) {
		return nil
	}
	if q.failed != nil && now.Before(q.look) {
		return q.failed
	}
	// What was taken is kept even when the worker stops meanwhile: it is given back at the end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	has, err := s.worker.queue.Allow(ctx, s.at.channel, s.limits.Quota, s.limits.Quota.Portion(), q.has)
	if err != nil {
		q.has, q.failed, q.look = channels.Allowance{}, err, now.Add(min(time.Second<<min(q.failures, 6), quotaLook))
		q.failures++
		return err
	}
	q.has, q.look, q.failed, q.failures = has, time.Time{}, nil, 0
	var usedUp time.Time
	if has.Left == 0 {
		q.look, usedUp = now.Add(quotaLook), now.Add(has.Until.Sub(s.worker.storeNow()))
	}
	s.mu.Lock()
	was := s.usedUp
	s.usedUp = usedUp
	s.mu.Unlock()
	if was.IsZero() && !usedUp.IsZero() {
		s.worker.log.Warn("a channel rests, because its quota is used up", "organization", int64(s.at.organization), "channel", int64(s.at.channel),
			"until", has.Until.UTC())
	}
	return nil
}

// renewQuota has the store asked anew: the quota may be another one.
func (s *sender) renewQuota(ctx context.Context) {
	if s.limits.Quota.None() {
		s.returnQuota(ctx)
	}
	s.quota.mu.Lock()
	s.quota.has.Until = time.Time{}
	s.quota.mu.Unlock()
	s.mu.Lock()
	s.usedUp = time.Time{}
	s.mu.Unlock()
}

// returnQuota gives back what is left, because the sender ends or the quota is gone. Whether it was
// used up is forgotten in the store: nobody else may look at it again.
func (s *sender) returnQuota(ctx context.Context) {
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	if s.quota.has.Taken.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	if _, err := s.worker.queue.Allow(ctx, s.at.channel, channels.Quota{}, 0, s.quota.has); err != nil {
		s.worker.log.Warn("what is left of a channel's quota could not be given back", "channel", int64(s.at.channel), "error", err)
	}
	s.quota.has = channels.Allowance{}
}
