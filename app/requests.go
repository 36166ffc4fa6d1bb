package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
)

// Requests joins a use case with what its caller demands of it: that it does its work once, however
// often it is asked, or only while something is as the caller knows it.
type Requests struct {
	store ports.Store
	clock ports.Clock
}

// NewRequests returns the use case of requests that are repeatable or conditional.
func NewRequests(store ports.Store, clock ports.Clock) *Requests {
	return &Requests{store: store, clock: clock}
}

// Once runs a call and returns its answer. What use cases do under the context that the call is
// given belongs to one unit of work with the request and its answer, and is kept when the call
// returns nil. A request that was answered before is answered again, and the call is not run; nil
// is a call that is not repeatable. The call may run more than once. requests.ErrReused.
func (r *Requests) Once(
	ctx context.Context, request *requests.Request, call func(context.Context) (requests.Answer, error),
) (answer requests.Answer, repeated bool, err error) {
	var after afterwards
	defer after.run()
	ctx = context.WithValue(ctx, afterKey{}, &after)
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

// afterwards is what is to be done once a unit of work of Once is over, whatever became of it.
type afterwards []func()

// afterKey is how a context knows its afterwards.
type afterKey struct{}

func (a *afterwards) run() {
	for _, fn := range *a {
		fn()
	}
}

// afterUnit calls fn once the unit of work that a context belongs to is over: at once, where a use
// case has ended its own.
func afterUnit(ctx context.Context, fn func()) {
	if after, within := ctx.Value(afterKey{}).(*afterwards); within {
		*after = append(*after, fn)
		return
	}
	fn()
}
