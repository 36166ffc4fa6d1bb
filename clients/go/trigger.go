package tocsin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tocsin/tocsin/clients/go/api"
)

// TriggerOptions are the options of a trigger.
type TriggerOptions = api.Trigger_Options

// IdempotencyKey gives a POST its Idempotency-Key: with the same key, the same request within 24
// hours is done once. All attempts of one call have the same key; a call without one gets a random
// key, so that a second call is another request.
func IdempotencyKey(key string) api.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Idempotency-Key", key)
		return nil
	}
}

// TriggerAndWait triggers an event and returns its occurrence when every delivery has ended: sent,
// failed or skipped, as Counts says. The key needs event:trigger and delivery:read. The editors,
// such as that of [IdempotencyKey], change the request of the trigger.
//
// When the occurrence cannot be read, or the context ends before, it returns a [*WaitError] and the
// occurrence as it was seen last, or with nothing but its Id when it was never seen; messages go on
// being sent. With any other error the occurrence is nil. Such an error may mean that only the
// answer to the trigger is lost: to call it again without sending twice, use an [IdempotencyKey].
func (c *Client) TriggerAndWait(ctx context.Context, org, project, application, event string, body api.Trigger, editors ...api.RequestEditorFn) (*api.Occurrence, error) {
	if body.Options != nil && body.Options.DryRun != nil && *body.Options.DryRun {
		return nil, errors.New("tocsin: a dry run has nothing to wait for")
	}
	triggered, err := c.TriggerEventWithResponse(ctx, org, project, application, event, nil, body, editors...)
	if err != nil {
		return nil, err
	}
	if triggered.JSON201 == nil {
		return nil, errors.New("tocsin: the answer to the trigger names no occurrence")
	}
	id := triggered.JSON201.Occurrence
	seen := &api.Occurrence{Id: id}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		shown, err := c.GetOccurrenceWithResponse(ctx, org, project, application, id, nil)
		if err != nil {
			return seen, &WaitError{id, errors.Join(ctx.Err(), err)}
		}
		if shown.JSON200 == nil {
			return seen, &WaitError{id, errors.New("the answer is no occurrence")}
		}
		seen = shown.JSON200
		if over(seen) {
			return seen, nil
		}
		if err := pause(ctx, wait); err != nil {
			return seen, &WaitError{id, err}
		}
	}
}

// over reports whether no delivery is open. What is being sent when an occurrence is cancelled ends
// after that.
func over(o *api.Occurrence) bool {
	open := o.Counts.Pending + o.Counts.Sending + o.Counts.Retrying
	return o.State == api.OccurrenceStateDone || o.State == api.OccurrenceStateCancelled && open == 0
}
