package deliveries

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
)

// Cause is the reason why something waits.
type Cause string

// The causes.
const (
	ForLookup   Cause = "recipients"           // the recipients of its occurrence to be looked up
	ForSchedule Cause = "scheduled"            // the time at which its occurrence is to be sent
	ForChannel  Cause = "channel not working"  // the channel to work again, or another one of its pool
	ForAttempt  Cause = "next attempt"         // the end of the pause after an attempt, or after its host did not answer
	ForLimit    Cause = "limit of the channel" // the rate limit of the channel, or a pause that its provider asked for
	ForQuota    Cause = "quota of the channel" // the next day or month, because the channel's quota is used up
	ForWorker   Cause = "its turn"             // a worker to take it
	ForRelease  Cause = "sending is stopped"   // the installation to send again
	ForAnswer   Cause = "answer"               // a worker that has it, and is sending it or is about to
)

// Causes returns every cause.
func Causes() []Cause {
	return []Cause{ForLookup, ForSchedule, ForChannel, ForAttempt, ForLimit, ForQuota, ForWorker, ForRelease, ForAnswer}
}

// Waiting is why an open delivery waits. It contains only what everyone with waiting messages may
// know about the channel, and nothing about other messages. The zero Waiting belongs to a finished
// delivery.
type Waiting struct {
	For   Cause
	Until time.Time // no attempt before; zero: as soon as possible
	Since time.Time // of ForChannel: when the outage began
	Error string    // of ForChannel and ForLimit: the provider's latest answer, without addresses
	// Others is whether ForChannel means the others of the pool, because its own is inactive.
	Others bool
	// PerSecond is how many messages the channel sends in a second; 0: no limit. It belongs to
	// ForWorker, and to ForLimit without an end.
	PerSecond float64
}

// WaitsFor returns what a delivery waits for on a channel in this condition.
func (d Delivery) WaitsFor(c channels.Condition, now time.Time) Waiting {
	put := d.Next.After(now) // For a delivery that is being sent, Next is the end of the lease.
	outage, failing := c.Outage()
	pause, asked := c.RequestedPause(now)
	switch {
	case !d.State.Open():
		return Waiting{}
	case d.State == Sending && put:
		return Waiting{For: ForAnswer}
	case put && c.Inactive && d.State == Pending && d.LastError == "":
		return Waiting{For: ForChannel, Others: true, Until: d.Next}
	case asked && !c.UsedUp.After(pause.Until):
		return Waiting{For: ForLimit, Error: pause.Error}.until(now, pause.Until, d.Next)
	case failing:
		return Waiting{For: ForChannel, Since: outage.Since, Error: outage.Error}.until(now, outage.Until, c.UsedUp, d.Next)
	case c.UsedUp.After(now):
		return Waiting{For: ForQuota}.until(now, c.UsedUp, d.Next)
	case put:
		return Waiting{For: ForAttempt, Until: d.Next}
	}
	return Waiting{For: ForWorker, PerSecond: c.PerSecond}
}

// Stopped returns what a delivery waits for while the installation sends nothing. A worker gives
// back what it claims then, so that the next attempt says nothing.
func (w Waiting) Stopped() Waiting {
	if w.For == "" || w.For == ForAnswer {
		return w
	}
	return Waiting{For: ForRelease}
}

// Behind returns what a delivery waits for that waits for its turn behind so many others: on a
// channel with a rate limit, for this limit.
func (w Waiting) Behind(ahead int) Waiting {
	if w.For == ForWorker && w.PerSecond > 0 && ahead > 0 {
		w.For = ForLimit
	}
	return w
}

// until returns w until the latest of these times; those that are over do not count.
func (w Waiting) until(now time.Time, times ...time.Time) Waiting {
	for _, t := range times {
		if t.After(now) && t.After(w.Until) {
			w.Until = t
		}
	}
	return w
}

// MaxAheadCounted is the limit for counting the messages before an occurrence.
const MaxAheadCounted = 10_000

// Throughput is how many deliveries of an occurrence a worker sent or gave up since a recent time.
type Throughput struct {
	Since time.Time
	Ended int
}

// Rate returns how many deliveries of an occurrence end in a second: recently, or on average since
// it began while nothing is known about recent ones. It returns 0 while none has ended. Skipped
// deliveries do not count, because most of them are skipped at once.
func Rate(o events.Occurrence, counts map[State]int, recent []Throughput, now time.Time) (perSecond float64) {
	for _, t := range recent {
		perSecond += t.rate(now)
	}
	if perSecond > 0 || !now.After(o.Begin()) {
		return perSecond
	}
	return Throughput{o.Begin(), counts[Sent] + counts[Failed]}.rate(now)
}

func (t Throughput) rate(now time.Time) float64 {
	return float64(t.Ended) / max(now.Sub(t.Since), time.Second).Seconds()
}

// maxExpected is the limit for predicting an end.
const maxExpected = 10 * 365 * 24 * time.Hour

// ExpectedEnd returns when the last open delivery of an occurrence will have ended at this rate a
// second: not before a delivery is tried again, and at the latest when the occurrence expires. It
// returns zero when that is unknown or none is open, and after the occurrence has expired.
func ExpectedEnd(o events.Occurrence, counts map[State]int, perSecond float64, again, now time.Time) time.Time {
	open := 0
	for state, n := range counts {
		if state.Open() {
			open += n
		}
	}
	seconds := float64(open) / perSecond
	if open == 0 || seconds > maxExpected.Seconds() { // Also without a rate.
		return time.Time{}
	}
	end := now.Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
	if again.After(end) {
		end = again
	}
	expires := o.Options.ExpiresAt
	switch {
	case expires.IsZero() || end.Before(expires):
		return end
	case expires.After(now):
		return expires
	}
	return time.Time{}
}

// Words returns what it waits for, to follow "waits for".
func (w Waiting) Words() string {
	switch w.For {
	case ForLookup:
		return "its recipients to be looked up"
	case ForSchedule:
		return "the moment when it is to be sent"
	case ForChannel:
		if w.Others {
			return "another channel of the pool, because its own is inactive"
		}
		return "the channel to work again"
	case ForAttempt:
		return "the next attempt"
	case ForLimit:
		if !w.Until.IsZero() {
			return "the provider, which asked for a pause"
		}
		return fmt.Sprintf("the channel, which sends at most %s a second", w.rate())
	case ForQuota:
		return "the channel, whose quota is used up"
	case ForWorker:
		if w.PerSecond > 0 {
			return fmt.Sprintf("its turn; the channel sends at most %s a second", w.rate())
		}
		return "its turn"
	case ForRelease:
		return "sending, which is stopped in the whole installation"
	case ForAnswer:
		return "a worker, which is sending it or is about to"
	}
	return ""
}

func (w Waiting) rate() string { return strconv.FormatFloat(w.PerSecond, 'f', -1, 64) }

// String returns all of it, to follow "waits for".
func (w Waiting) String() string {
	said := w.Words()
	if !w.Since.IsZero() {
		said += ", which has failed since " + w.Since.UTC().Format(time.RFC3339)
	}
	if w.Error != "" && w.For != ForLimit {
		said += ": " + w.Error
	}
	if !w.Until.IsZero() {
		separator := ", at "
		switch w.For {
		case ForChannel:
			separator = "; next attempt at "
		case ForQuota, ForLimit:
			separator = " until "
		case ForLookup, ForSchedule, ForAttempt, ForWorker, ForRelease, ForAnswer:
		}
		said += separator + w.Until.UTC().Format(time.RFC3339)
	}
	if w.Error != "" && w.For == ForLimit {
		said += ": " + w.Error
	}
	return said
}
