// Package web is what all HTTP adapters share: request ids, logging and recovery, the parsing of
// paths, client addresses behind proxies, Retry-After, and the status of a kind of fault. It knows
// no route and no use case.
package web

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/quotas"
)

// statuses maps kinds of fault to HTTP statuses.
var statuses = map[fault.Kind]int{
	fault.Internal:        http.StatusInternalServerError,
	fault.Invalid:         http.StatusBadRequest,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.TooLarge:        http.StatusRequestEntityTooLarge,
	fault.Unsupported:     http.StatusUnsupportedMediaType,
	fault.Mismatch:        http.StatusUnprocessableEntity,
	fault.Limited:         http.StatusTooManyRequests,
	fault.Unavailable:     http.StatusServiceUnavailable,
	fault.Conflict:        http.StatusConflict,
	fault.Changed:         http.StatusPreconditionFailed,
	fault.TooSlow:         http.StatusRequestTimeout,
}

// Status returns the status of a kind of fault.
func Status(k fault.Kind) int { return statuses[k] }

// retryUnavailable is how long a caller should wait when the time is unknown.
const retryUnavailable = time.Second

// limited is a fault with the time to wait.
type limited struct {
	fault *fault.Error
	wait  time.Duration
}

// TooMany returns the fault of a client that sends too much.
func TooMany(message string, wait time.Duration) error {
	return &limited{fault: fault.New(fault.Limited, message), wait: wait}
}

func (l *limited) Error() string { return l.fault.Error() }
func (l *limited) Unwrap() error { return l.fault }

// RetryAfter returns the value of the Retry-After header for a fault.
func RetryAfter(err error) string {
	wait := retryUnavailable
	if l, ok := errors.AsType[*limited](err); ok {
		wait = l.wait
	}
	if e, ok := errors.AsType[*quotas.Exceeded](err); ok {
		wait = e.Wait
	}
	if errors.Is(err, installation.ErrReadOnly) {
		wait = installation.RetryAfter
	}
	return strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))
}
