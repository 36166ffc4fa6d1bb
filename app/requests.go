package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
)

// Requests joins a use case with what its caller demands of it: that it does its work once, however often it is asked, or only while
// something is as the caller knows it.
type Requests struct {
	store ports.Store
	clock ports.Clock
}

// NewRequests returns the use case of requests that are repeatable or conditional.
func NewRequests(store ports.Store, clock ports.Clock) *Requests {
	return &Requests{store: store, clock: clock}
}

// Once runs a call and returns its answer. What use cases do under the context that the call is given belongs to one unit of work
// with the request and its answer, and is kept when the call returns nil. A request that was answered before is answered again, and
// the call is not run; nil is a call that is not repeatable. The call may run more than once. requests.ErrReused.
func (r *Requests) Once(
	ctx context.Context, request *requests.Request, call func(context.Context) (requests.Answer, error),
) (answer requests.Answer, repeated bool, err error) {
	err = r.store.Update(ctx, func(tx ports.Tx) error {
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
	return answer, repeated, err
}
