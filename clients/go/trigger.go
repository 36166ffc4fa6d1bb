package tocsin

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/clients/go/api"
)

// TriggerOptions are the options of a trigger.
type TriggerOptions = api.Trigger_Options

// TriggerAndWait triggers an event and returns its occurrence when every delivery has ended: sent,
// failed or skipped, as Counts says. When the context ends before, it returns the occurrence as it
// was seen last together with the context's error; messages go on being sent. The key needs
// event:trigger and delivery:read.
func (c *Client) TriggerAndWait(ctx context.Context, org, project, application, event string, body api.Trigger) (*api.Occurrence, error) {
	if body.Options != nil && body.Options.DryRun != nil && *body.Options.DryRun {
		return nil, errors.New("tocsin: a dry run has nothing to wait for")
	}
	triggered, err := c.TriggerEventWithResponse(ctx, org, project, application, event, nil, body)
	if err != nil {
		return nil, err
	}
	if triggered.JSON201 == nil {
		return nil, errors.New("tocsin: the answer to the trigger names no occurrence")
	}
	var seen *api.Occurrence
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		shown, err := c.GetOccurrenceWithResponse(ctx, org, project, application, triggered.JSON201.Occurrence, nil)
		if err != nil {
			return seen, errors.Join(ctx.Err(), err)
		}
		if shown.JSON200 == nil {
			return seen, errors.New("tocsin: the answer is no occurrence")
		}
		seen = shown.JSON200
		if over(seen) {
			return seen, nil
		}
		if err := pause(ctx, wait); err != nil {
			return seen, err
		}
	}
}

// over reports whether no delivery is open. What is being sent when an occurrence is cancelled ends
// after that.
func over(o *api.Occurrence) bool {
	open := o.Counts.Pending + o.Counts.Sending + o.Counts.Retrying
	return o.State == api.OccurrenceStateDone || o.State == api.OccurrenceStateCancelled && open == 0
}
