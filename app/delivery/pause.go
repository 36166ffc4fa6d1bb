package delivery

import (
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// pauseLeft returns how long the channel is still paused: the breaker is open, the provider asked
// another instance for a pause, or the quota is used up. It returns 0 when the channel may send.
func (s *sender) pauseLeft() time.Duration {
	provider, quota := s.pauseTimes()
	return max(provider, quota)
}

// pauseDelay returns the delay of a delivery that is given back because the channel is paused. A
// delivery that waits only for the quota is due soon: the quota may be raised, and another
// instance may return a part of it.
func (s *sender) pauseDelay() time.Duration {
	if provider, _ := s.pauseTimes(); provider > 0 {
		return min(provider, divertMaxWait)
	}
	return s.worker.set.Poll
}

// pauseTimes returns how long the channel is still paused because of its provider, and because of
// its quota.
func (s *sender) pauseTimes() (provider, quota time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.worker.clock.Now()
	return max(0, s.breaker.open(now).Sub(now), s.retryAfter.Sub(now)), max(0, s.usedUp.Sub(now))
}

// failing reports whether the latest attempts failed because of the channel.
func (s *sender) failing(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.breaker.failures > 0 && now.Sub(s.breaker.last) < channels.OutageExpiry
}

// onTrial reports whether the next attempt shows if the channel works again.
func (s *sender) onTrial() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.breaker.onTrial()
}

// pauseReason returns why other members take the deliveries of a paused channel.
func (s *sender) pauseReason() channels.PoolReason {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.worker.clock.Now(); s.breaker.forAll || now.Before(s.retryAfter) || now.Before(s.usedUp) {
		return channels.LimitReached
	}
	return channels.NotWorking
}
