package deliveries

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Failure is what a dispatcher says when a message did not get through.
type Failure struct {
	// Err is what everybody may see who may see the delivery: nothing that a service at a private
	// address said is in it.
	Err error
	// Detail is what only those see who look after the installation: the words of such a service,
	// and addresses. nil: Err says everything.
	Detail    error
	Temporary bool // another attempt may succeed
	// Channel says that the channel itself failed (connection, time-out, login, throttling), not
	// this recipient. Such failures open its breaker.
	Channel bool
	// Target says that the host of this recipient did not answer. Such failures open the breaker of
	// that host.
	Target     bool
	RetryAfter time.Duration // what the provider asked for; 0: nothing
	// Unsure says that the provider may have taken the message nevertheless: its answer is missing.
	Unsure bool
}

func (f *Failure) Error() string { return f.Err.Error() }

// Detailed returns all that is known, for those who look after the installation.
func (f *Failure) Detailed() string {
	if f.Detail == nil {
		return f.Error()
	}
	return f.Error() + " (" + f.Detail.Error() + ")"
}

// Unwrap returns what went wrong.
func (f *Failure) Unwrap() []error {
	if f.Detail == nil {
		return []error{f.Err}
	}
	return []error{f.Err, f.Detail}
}

// Refused is a failure that will stay: this recipient or this message is not accepted.
func Refused(format string, args ...any) *Failure { return &Failure{Err: fmt.Errorf(format, args...)} }

// Postponed is a failure of this recipient that may pass.
func Postponed(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Temporary: true}
}

// Unanswered is a failure of the recipient's own host that may pass: there was no connection, or no
// answer in time.
func Unanswered(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Temporary: true, Target: true}
}

// Unreachable is a failure of the channel as a whole that may pass.
func Unreachable(format string, args ...any) *Failure {
	return &Failure{Err: fmt.Errorf(format, args...), Temporary: true, Channel: true}
}

// Doubtful returns the failure where the provider may have taken the message nevertheless.
func (f *Failure) Doubtful(unsure bool) *Failure {
	f.Unsure = unsure
	return f
}

// FailureOf reads an error of a dispatcher; what is no Failure counts as the channel's, and as
// temporary: a fault of ours must not lose a message. Nobody knows whether it was taken.
func FailureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Err: err, Temporary: true, Channel: true, Unsure: true}
}

// Retry is when failed attempts are made again: exponential backoff with jitter, until the delivery
// is too old.
type Retry struct {
	Base time.Duration // the pause after the first attempt
	Max  time.Duration // the longest pause
	For  time.Duration // how long after its creation a delivery is still tried, at least
}

// Next returns when to try again after so many attempts, or false when the time is up. jitter is
// random in [0, 1): the pause is between half and all of the exponential one, so that a crowd that
// failed together does not come back together. What the provider asked for is honoured when it is
// longer.
func (r Retry) Next(attempts int, created, now time.Time, after time.Duration, jitter float64) (time.Time, bool) {
	pause := time.Duration(math.Min(float64(r.Base)*math.Pow(2, float64(max(attempts, 1)-1)), float64(r.Max)))
	pause = pause/2 + time.Duration(jitter*float64(pause/2))
	next := now.Add(max(pause, after))
	tried := max(float64(r.Base)*(math.Pow(2, float64(max(attempts, 1)))-1), float64(after))
	return next, next.Before(created.Add(r.For)) || tried < float64(r.For)
}
