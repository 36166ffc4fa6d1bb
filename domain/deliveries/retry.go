package deliveries

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Failure is a dispatcher's reason why a message did not get through.
type Failure struct {
	// Err is for everyone who may see the delivery: it contains nothing that a service at a private
	// address said.
	Err error
	// Detail is only for operators of the installation: the words of such a service, and addresses.
	// nil: Err has everything.
	Detail    error
	Temporary bool // another attempt may succeed
	// Channel says that the channel itself failed (connection, time-out, login, throttling), not
	// this recipient. Such failures open its breaker.
	Channel bool
	// Target says that the host of this recipient did not answer. Such failures open the breaker of
	// that host.
	Target     bool
	RetryAfter time.Duration // requested by the provider; 0: nothing
	// MaybeAccepted says that the provider may have accepted the message nevertheless, or a part of
	// it: an answer is missing or that of a gateway, or only some of several targets accepted it.
	MaybeAccepted bool
	// Unsent says that the driver refused the message by itself, without contacting the provider.
	// So it says nothing about the channel, and does not count against its quota.
	Unsent bool
}

func (f *Failure) Error() string { return f.Err.Error() }

// Detailed returns all details, for operators of the installation.
func (f *Failure) Detailed() string {
	if f.Detail == nil {
		return f.Error()
	}
	return f.Error() + " (" + f.Detail.Error() + ")"
}

// Unwrap returns the errors behind the failure.
func (f *Failure) Unwrap() []error {
	if f.Detail == nil {
		return []error{f.Err}
	}
	return []error{f.Err, f.Detail}
}

// Refused is a permanent failure: this recipient or this message is not accepted.
func Refused(format string, args ...any) *Failure { return &Failure{Err: fmt.Errorf(format, args...)} }

// Unsendable is a permanent failure: the driver does not hand this message to the provider.
func Unsendable(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Unsent: true}
}

// Postponed is a temporary failure of this recipient.
func Postponed(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Temporary: true}
}

// Unanswered is a temporary failure of the recipient's own host: there was no connection, or no
// answer in time.
func Unanswered(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Temporary: true, Target: true}
}

// Unreachable is a temporary failure of the channel as a whole.
func Unreachable(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Temporary: true, Channel: true}
}

// WithMaybeAccepted returns the failure with MaybeAccepted set: the provider may have accepted the
// message nevertheless.
func (f *Failure) WithMaybeAccepted(unsure bool) *Failure {
	f.MaybeAccepted = unsure
	return f
}

// FailureOf returns the Failure of a dispatcher's error. Any other error counts as the channel's,
// as temporary, and as unsure: a bug of ours must not lose a message.
func FailureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Err: err, Temporary: true, Channel: true, MaybeAccepted: true}
}

// Retry is the schedule of failed attempts: exponential backoff with jitter, until the delivery is
// too old.
type Retry struct {
	Base time.Duration // the pause after the first attempt
	Max  time.Duration // the longest pause
	For  time.Duration // how long after its creation a delivery is tried, at least
}

// lastAttempt is the time from the last attempt to the end of Retry.For, if the provider asked for
// a longer pause.
const lastAttempt = time.Second

// Next returns when to try again after so many attempts, or false when the time is up. jitter is
// random in [0, 1): the pause is between half and all of the exponential one, so that deliveries
// that failed together do not retry together. A longer pause for which the provider asked, after,
// is honored. If it would leave no attempt, it is cut so that there is one more within For.
//
// A delivery older than For is tried again until its pauses fill For. They are not known, so Next
// assumes that they only doubled, or that each was as long as after, whichever is more.
func (r Retry) Next(attempts int, created, now time.Time, after time.Duration, jitter float64) (time.Time, bool) {
	pause := time.Duration(math.Min(float64(r.Base)*math.Pow(2, float64(max(attempts, 1)-1)), float64(r.Max)))
	pause = pause/2 + time.Duration(jitter*float64(pause/2))
	next := now.Add(max(pause, after))
	count := float64(max(attempts, 1))
	tried := max(float64(r.Base)*(math.Pow(2, count)-1), float64(after)*count)
	if next.Before(created.Add(r.For)) || tried < float64(r.For) {
		return next, true
	}
	if last := created.Add(r.For - lastAttempt); after > pause && !now.Add(pause).After(last) {
		return last, true
	}
	return next, false
}
