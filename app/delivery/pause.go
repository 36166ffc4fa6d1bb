package delivery

import (
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// resting returns how long the channel still rests: the breaker is open, the provider asked another
// instance for a pause, or the quota is used up. It returns 0 when the channel may send.
func (s *sender) resting() time.Duration {
	provider, quota := s.restTimes()
	return max(provider, quota)
}

// restDelay returns the delay of a delivery that is given back because the channel rests. A
// delivery that waits for the quota alone is due soon: the quota may be raised, and another
// instance may return a part of it.
func (s *sender) restDelay() time.Duration {
	if provider, _ := s.restTimes(); provider > 0 {
		return min(provider, divertMaxWait)
	}
	return s.worker.set.Poll
}

// restTimes returns how long the channel still rests because of its provider, and because of its
// quota.
func (s *sender) restTimes() (provider, quota time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.worker.clock.Now()
	return max(0, s.breaker.open(now).Sub(now), s.paused.Sub(now)), max(0, s.usedUp.Sub(now))
}

// onTrial reports whether the next attempt shows if the channel works again.
func (s *sender) onTrial() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.breaker.onTrial()
}

// restReason returns why other members take the deliveries of a channel that rests.
func (s *sender) restReason() channels.PoolReason {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.worker.clock.Now(); s.breaker.forAll || now.Before(s.paused) || now.Before(s.usedUp) {
		return channels.LimitReached
	}
	return channels.NotWorking
}
