package delivery

import (
	"context"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
)

// Limits of health reports. A report that the store does not take is dropped, and the next change
// is reported again, or the pause while it goes on.
const (
	reportTimeout = 5 * time.Second
	reportPause   = 30 * time.Second // after a report that the store did not take
)

// health is what a sender last reported about its channel.
type health struct {
	mu       sync.Mutex // lets one report at a time into the store
	reported report
	at       time.Time // of the last report
	retryAt  time.Time // no report before this moment
}

// report is the state of a channel as reported to the store.
type report struct {
	works bool
	until time.Time // the end of the pause; zero: none
}

// reset forgets the last report, because the channel has changed.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reported = report{}
}

// reportHealth records an outage in the store when the channel is paused or paused again. It
// clears the outage when the channel works: after a pause, with the first message of a dispatcher,
// because an earlier process may have left a record, and again after OutageOverdue, because another
// instance may have.
func (s *sender) reportHealth(ctx context.Context) {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	s.mu.Lock()
	b, failure := s.breaker, s.failure
	s.mu.Unlock()
	current := report{works: b.failures == 0, until: b.until}
	now := s.worker.clock.Now()
	known := current == h.reported && (!current.works || now.Sub(h.at) < channels.OutageOverdue)
	if known || now.Before(h.retryAt) || b.failures > 0 && b.until.IsZero() { // A few failures are no outage yet.
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	var err error
	if current.works {
		err = s.worker.queue.ClearOutage(ctx, s.ref.channel, s.worker.set.Instance)
	} else {
		err = s.worker.queue.ReportOutage(ctx, channels.Outage{Channel: s.ref.channel, Instance: s.worker.set.Instance,
			Since: b.since, Last: b.last, Until: b.until, ForAll: b.forAll, Error: failure})
	}
	if err != nil {
		h.retryAt = now.Add(reportPause)
		s.worker.log.Warn("the health of a channel could not be recorded", "channel", int64(s.ref.channel), "error", err)
		return
	}
	h.reported, h.at = current, now
}

// clearedMargin is the least rest of a pause by which its missing record shows that it was removed,
// and not that the pause is over by the store's clock.
const clearedMargin = 5 * time.Second

// reportedRequest returns the end of the pause that the provider asked for, if the store has its
// record; else zero. A record that is missing afterwards was removed by a change of the channel.
func (s *sender) reportedRequest() (until time.Time) {
	if !s.health.mu.TryLock() { // A report is under way.
		return until
	}
	defer s.health.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.breaker.forAll && s.health.reported.until.Equal(s.breaker.until) {
		return s.breaker.until
	}
	return until
}

// reportPause reports the pause that goes on, if its report failed: no attempt follows that would
// report it again. It leaves a pause that another instance or an earlier process has reported.
func (s *sender) reportPause(ctx context.Context) {
	s.mu.Lock()
	open := s.breaker.open(s.worker.clock.Now())
	s.mu.Unlock()
	if !open.IsZero() {
		s.reportHealth(ctx)
	}
}
