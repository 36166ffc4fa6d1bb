package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
)

// Requests runs a use case under the conditions of its caller: only once, however often it is
// requested, or only if an object is unchanged.
type Requests struct {
	store ports.Store
	clock ports.Clock
}

// NewRequests returns the use case of repeatable and conditional requests.
func NewRequests(store ports.Store, clock ports.Clock) *Requests {
	return &Requests{store: store, clock: clock}
}

// Once runs a call and returns its answer. Use cases that run under the call's context belong to
// one unit of work with the request and its answer, which is kept when the call returns nil. A
// request that was answered before gets the same answer, and the call does not run; a nil request
// is a call that is not repeatable. The call may run more than once. requests.ErrReused.
func (r *Requests) Once(
	ctx context.Context, request *requests.Request, call func(context.Context) (requests.Answer, error),
) (answer requests.Answer, repeated bool, err error) {
	var after callbacks
	defer after.run()
	ctx = context.WithValue(ctx, afterKey{}, &after)
	err = withParsedSchemas(ctx, func(ctx context.Context) error {
		return r.store.Update(ctx, func(tx ports.Tx) error {
			answer, repeated = requests.Answer{}, false
			if request != nil {
				if answer, repeated, err = tx.Requests().Begin(ctx, *request, r.clock.Now()); err != nil || repeated {
					return err
				}
			}
			if answer, err = call(ports.Within(ctx, tx)); err != nil || request == nil {
				return err
			}
			return tx.Requests().Finish(ctx, *request, answer)
		})
	})
	return answer, repeated, err
}

// errUnanswered is the error of a request that was not answered before.
var errUnanswered = errors.New("the request was not answered before")

// InPages is Once for a call whose use case changes many rows, page by page in units of work of its
// own. Only the answer is kept in one with the request. A repetition after a failure continues with
// the rest; of equal requests at the same time, each may do a part.
func (r *Requests) InPages(
	ctx context.Context, request *requests.Request, call func(context.Context) (requests.Answer, error),
) (answer requests.Answer, repeated bool, err error) {
	answer, repeated, err = r.Once(ctx, request, func(context.Context) (requests.Answer, error) { return requests.Answer{}, errUnanswered })
	if !errors.Is(err, errUnanswered) {
		return answer, repeated, err
	}
	done, err := call(ctx)
	if err != nil {
		return requests.Answer{}, false, err
	}
	return r.Once(ctx, request, func(context.Context) (requests.Answer, error) { return done, nil })
}

// callbacks are functions to call when a unit of work of Once is over, whether it succeeded or
// not.
type callbacks []func()

// afterKey is the context key of the callbacks of Once.
type afterKey struct{}

func (a *callbacks) run() {
	for _, fn := range *a {
		fn()
	}
}

// afterUnit calls fn when the unit of work of a context is over: at once, if a use case has ended
// its own.
func afterUnit(ctx context.Context, fn func()) {
	if after, within := ctx.Value(afterKey{}).(*callbacks); within {
		*after = append(*after, fn)
		return
	}
	fn()
}
