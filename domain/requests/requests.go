// Package requests is about repeatable calls: how to recognize a repetition, and the answer to the
// first call. It does not know what the calls do.
package requests

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
)

// Errors of requests.
var (
	ErrReused  = fault.New(fault.Mismatch, "this Idempotency-Key was used with another request")
	ErrShown   = fault.New(fault.Conflict, "this request was carried out before; its answer held a secret, which is shown once and not kept")
	ErrChanged = fault.New(fault.Changed, "this has changed since it was read, or is not what the request expects")
)

// Lifetime is how long an Idempotency-Key is remembered (decisions 6).
const Lifetime = 24 * time.Hour

// Request makes a call repeatable: the Idempotency-Key, the API key that sent it and a digest of
// what it requests.
type Request struct {
	Key            access.ID // the API key; 0: a form of the console, whose idempotency key is secret
	IdempotencyKey string
	Digest         [32]byte // of all that the request means
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Body   []byte
}

// Repository stores requests and their answers. It shares the requests of triggers with
// deliveries.Repository.
type Repository interface {
	// Begin claims a request: concurrent requests that are equal wait for its unit of work. It
	// returns the answer, and true, when the request was answered within Lifetime; ErrReused when
	// the key was used for something else.
	Begin(ctx context.Context, r Request, now time.Time) (Answer, bool, error)
	// Finish remembers the answer to a request that the same unit of work has begun.
	Finish(ctx context.Context, r Request, a Answer) error
}
