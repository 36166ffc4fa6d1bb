package httpapi

import (
	"net/http"
	"strconv"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// subscription is the response of subscribe and unsubscribe (contract 4.5).
type subscription struct {
	ID subscriptions.ID `json:"subscription"`
}

func (a *API) subscribe(c call) error {
	n := web.ID[subscriptions.NotificationID](c, "notification_pk")
	body := c.object()
	assignment := channels.AssignmentID(body.RequiredInteger("assignment"))
	active := body.Bool("active", true)
	if err := body.Err(); err != nil {
		return err
	}
	s, created, err := a.use.Subscriptions.Subscribe(c.ctx, c.actor(), c.at(), n, assignment, active)
	if err != nil {
		return err
	}
	return c.answer(createdOrOK(created), subscription{s.ID})
}

func (a *API) unsubscribe(c call) error {
	n := web.ID[subscriptions.NotificationID](c, "notification_pk")
	assignment, err := c.assignmentToUnsubscribe()
	if err != nil {
		return err
	}
	s, err := a.use.Subscriptions.Unsubscribe(c.ctx, c.actor(), c.at(), n, assignment)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, subscription{s.ID})
}

// assignmentToUnsubscribe returns the assignment in the body, or in the query if there is no body.
func (c call) assignmentToUnsubscribe() (channels.AssignmentID, error) {
	text, err := c.body()
	if err != nil || len(text) > 0 {
		body := objectOf(text, err)
		assignment := body.RequiredInteger("assignment")
		return channels.AssignmentID(assignment), body.Err()
	}
	if n := len(c.QueryParams()["assignment"]); n > 1 {
		return 0, fault.Field("assignment", "is given %d times; give it only once", n)
	}
	sent := c.QueryParam("assignment")
	if sent == "" {
		return 0, fault.Field("assignment", "is required")
	}
	assignment, err := strconv.ParseInt(sent, 10, 64)
	if err != nil {
		return 0, fault.Field("assignment", "must be an integer")
	}
	return channels.AssignmentID(assignment), nil
}
