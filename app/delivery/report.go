package delivery

import (
	"errors"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// At most failuresLogged failed deliveries of a channel are logged in a minute, and so many of its
// hosts. The others are counted.
const failuresLogged = 10

// logFailed logs a delivery that has failed for good, unless there are many. The log contains no
// addresses: they are masked before the text is shortened, because a part of an address is not.
func (s *sender) logFailed(of events.Occurrence, j deliveries.Job, m deliveries.Message, o deliveries.Outcome, err error) {
	if o.State != deliveries.Failed {
		return
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	pass, held := s.failures.Pass(s.worker.clock.Now())
	if !pass {
		return
	}
	failure := deliveries.FailureOf(err)
	text := withoutAddress(j, failure.Error())
	if failure.Temporary {
		text = outOfTime(text)
	}
	attributes := []any{"organization", int64(s.ref.organization), "channel", int64(s.ref.channel), "occurrence", int64(j.Occurrence),
		"delivery", int64(j.ID), "attempts", o.Attempts, "error", shortened(text)}
	for _, known := range [][2]string{{"message", m.ID}, {"request", of.RequestID}, {"traceparent", of.Traceparent}} {
		if known[1] != "" {
			attributes = append(attributes, known[0], known[1])
		}
	}
	if bug, is := errors.AsType[composePanic](err); is {
		attributes = append(attributes, "stack", string(bug.stack))
	}
	if held > 0 {
		attributes = append(attributes, "others_not_logged", held)
	}
	s.worker.log.Warn("a delivery has failed", attributes...)
}

// logSuppressed logs how many failed deliveries were not logged, when the sender ends.
func (s *sender) logSuppressed() {
	s.logging.Lock()
	defer s.logging.Unlock()
	if held := s.failures.Held(); held > 0 {
		s.worker.log.Warn("further deliveries of a channel have failed", "organization", int64(s.ref.organization), "channel", int64(s.ref.channel),
			"count", held)
	}
}

// logPause logs that a channel is paused, that the reason has changed, or that it works again.
// before is the breaker before the latest attempt. The caller holds the lock.
func (s *sender) logPause(before breaker) {
	switch now := s.breaker; {
	case now.onTrial() && (!before.onTrial() || before.reason() != now.reason()):
		text := "a channel is paused, because its provider is unreachable"
		if now.reason() == Requested {
			text = "a channel is paused, because its provider asked for it"
		}
		s.worker.log.Warn(text, "organization", int64(s.ref.organization), "channel", int64(s.ref.channel),
			"failures", now.failures, "until", now.until.UTC(), "error", s.failure)
	case before.onTrial() && !now.onTrial():
		s.worker.log.Info("a channel works again", "organization", int64(s.ref.organization), "channel", int64(s.ref.channel), "failing_since", before.since.UTC())
	}
}

// logHost logs that a host of recipients does not answer, or answers again. It logs a limited
// number a minute, and only the host of an address, because the rest may contain secrets.
func (s *sender) logHost(host string, a targetResult, e attemptEnd) {
	if e.before.onTrial() == e.after.onTrial() {
		return
	}
	pass, held := s.hosts.Pass(s.worker.clock.Now())
	if !pass {
		return
	}
	attributes := []any{"organization", int64(s.ref.organization), "channel", int64(s.ref.channel), "host", host}
	if held > 0 {
		attributes = append(attributes, "others_not_logged", held)
	}
	if !e.after.onTrial() {
		s.worker.log.Info("a host answers again", append(attributes, "failing_since", e.before.since.UTC())...)
		return
	}
	s.worker.log.Warn("a host does not answer; its messages are postponed",
		append(attributes, "failures", e.after.failures, "until", e.after.until.UTC(), "error", a.failure)...)
}

// withoutAddress returns the text with the recipient's address masked.
func withoutAddress(j deliveries.Job, text string) string {
	return deliveries.NewAddressMask("***", j.Address).Hide(text)
}
