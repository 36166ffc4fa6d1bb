package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// reload reads the channel and clears the render cache. It reports whether the dispatcher has to be
// opened again.
func (s *sender) reload(ctx context.Context) (changed bool, err error) {
	now := s.worker.clock.Now()
	if s.dispatcher != nil && now.Sub(s.checked) < refreshInterval {
		return s.stale, nil
	}
	if !s.takeTurn(ctx) {
		return false, ctx.Err()
	}
	asked := s.reportedRequest()
	c, err := s.worker.queue.Channel(ctx, s.ref.channel)
	s.worker.claiming.release(s.ref)
	var sealed string
	gone := errors.Is(err, channels.ErrNotFound)
	switch {
	case gone:
		// The channel has no assignment left, so the gates are closed for its deliveries.
		// Deliveries taken over from other members of the pool go back to them.
		c = channels.Channel{ID: s.ref.channel}
	case errors.Is(err, channels.ErrSealed): // Its pool still takes its deliveries over.
		sealed = err.Error()
	case err != nil:
		return false, err
	}
	if s.dispatcher != nil && err == nil && (c.Active != s.config.Active || asked.Sub(now) > clearedMargin && c.Paused.IsZero()) {
		s.forgetFailures() // An operator wants it to be tried again.
	}
	other := sealed != s.sealed || !c.SameProvider(s.config)
	changed = s.dispatcher == nil || other || !c.Settings.Equal(s.config.Settings)
	s.other = s.other || other
	s.config, s.sealed, s.checked, s.gone = c, sealed, now, gone
	s.mu.Lock()
	s.retryAfter = c.Paused
	s.mu.Unlock()
	s.stale = s.stale || changed
	s.cache.clear()
	if err := s.loadPool(ctx); err != nil {
		return false, err
	}
	return s.stale, nil
}

// refresh reads the channel again if it was read too long ago. It reports whether its settings have
// changed: then running attempts end with the old dispatcher, and work begins again.
func (s *sender) refresh(ctx context.Context) (changed bool, err error) {
	if s.untilRefresh() > 0 {
		return false, nil
	}
	if changed, err = s.reload(ctx); changed {
		notify(s.notified)
	}
	return changed, err
}

// untilRefresh returns when the channel is to be read again.
func (s *sender) untilRefresh() time.Duration {
	return max(0, refreshInterval-s.worker.clock.Now().Sub(s.checked))
}

// renew reads the channel, and what the messages of the last turn shared, before they are too old,
// so that the next message does not wait for that.
func (s *sender) renew(ctx context.Context) {
	if s.worker.clock.Now().Sub(s.checked) < renewInterval || len(s.notified) > 0 {
		return
	}
	shared := s.cache.shared()
	s.checked = time.Time{}
	_, err := s.reload(ctx)
	if err == nil {
		err = s.cache.renew(ctx, shared)
	}
	if err != nil && ctx.Err() == nil {
		s.worker.log.Debug("a channel could not be read ahead", "channel", int64(s.ref.channel), "error", err)
	}
}

func (s *sender) reopen(ctx context.Context) {
	s.closeDispatcher()
	dispatcher, err := s.open()
	if err != nil {
		// An operator has to correct the channel; until then each attempt fails with this error.
		dispatcher = brokenChannel{err}
	}
	s.dispatcher, s.limits, s.stale = dispatcher, s.config.Settings.Limits(), false
	s.protocol, s.targets = s.config.Protocol, newTargets(s.limits.Concurrency)
	if s.limits.Shared {
		s.targets.allow(0, time.Time{}) // until the sender has its part
	}
	if s.other {
		s.forgetFailures()
	}
	s.other = false
	s.slots.reset()
	s.renewQuota(ctx)
}

// forgetFailures ends a pause of the channel, because the channel has changed.
func (s *sender) forgetFailures() {
	s.mu.Lock()
	s.breaker = breaker{}
	s.mu.Unlock()
	s.health.reset()
}

func (s *sender) open() (deliveries.Dispatcher, error) {
	if s.sealed != "" {
		s.worker.log.Error("a channel cannot be used", "channel", int64(s.ref.channel), "error", s.sealed)
		return nil, errors.New(s.sealed)
	}
	return s.worker.drivers.Open(s.config)
}

func (s *sender) closeDispatcher() {
	if s.dispatcher == nil {
		return
	}
	if err := s.dispatcher.Close(); err != nil {
		s.worker.log.Warn("connections were not closed", "channel", int64(s.ref.channel), "error", err)
	}
	s.dispatcher = nil
}

// brokenChannel is the dispatcher of a channel that cannot be opened.
type brokenChannel struct{ err error }

func (b brokenChannel) Dispatch(context.Context, deliveries.Message) error {
	return deliveries.Unreachable("the channel cannot be used: %w", b.err)
}

func (b brokenChannel) Close() error { return nil }
