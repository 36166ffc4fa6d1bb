package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// listedOccurrence is an occurrence in lists.
type listedOccurrence struct {
	ID            events.OccurrenceID      `json:"id"`
	Event         events.ID                `json:"event"`
	State         app.OccurrenceState      `json:"state"`
	Priority      string                   `json:"priority"`
	Created       time.Time                `json:"created"`
	SendAt        *time.Time               `json:"send_at"`
	ExpiresAt     *time.Time               `json:"expires_at"`
	Cancelled     *time.Time               `json:"cancelled"`
	CorrelationID string                   `json:"correlation_id"`
	Counts        map[deliveries.State]int `json:"counts"`
	Deliveries    string                   `json:"deliveries"`
}

// occurrence is an occurrence in responses.
type occurrence struct {
	listedOccurrence
	Waiting     []hold     `json:"waiting"`
	ExpectedEnd *time.Time `json:"expected_end"`
	RequestID   string     `json:"request_id"`
	Traceparent string     `json:"traceparent"`
}

// waiting is why an open delivery waits.
type waiting struct {
	For   deliveries.Cause `json:"for"`
	Text  string           `json:"text"`
	Since *time.Time       `json:"since"`
	Until *time.Time       `json:"until"`
	Error string           `json:"error"`
}

// hold is why deliveries of an occurrence wait on a channel.
type hold struct {
	Channel string `json:"channel"`
	waiting
	Ahead *int `json:"ahead"`
}

// delivery is a delivery in responses.
type delivery struct {
	ID           deliveries.ID                `json:"id"`
	Notification subscriptions.NotificationID `json:"notification"`
	User         string                       `json:"user"`
	Address      string                       `json:"address"`
	Channel      string                       `json:"channel"`
	Choice       choice                       `json:"channel_choice"`
	Protocol     channels.Protocol            `json:"protocol"`
	State        deliveries.State             `json:"state"`
	Reason       deliveries.Reason            `json:"reason"`
	Attempts     int                          `json:"attempts"`
	LastError    string                       `json:"last_error"`
	Created      time.Time                    `json:"created"`
	Waiting      *waiting                     `json:"waiting"`
	Next         *time.Time                   `json:"next_attempt"`
	Finished     *time.Time                   `json:"finished"`
}

// choice is why a delivery uses its channel.
type choice struct {
	Because    string `json:"because"`
	Text       string `json:"text"`
	AssignedTo string `json:"assigned_to"`
	InsteadOf  string `json:"instead_of"`
}

// explanation is the response of explain.
type explanation struct {
	Summary    string               `json:"summary"`
	Candidates []explainedCandidate `json:"candidates"`
	Deliveries []delivery           `json:"deliveries"`
}

// explainedCandidate is one assignment by which a notification could reach the user.
type explainedCandidate struct {
	Notification string        `json:"notification"`
	Address      string        `json:"address"`
	Channel      string        `json:"channel"`
	OnList       bool          `json:"on_list"`
	Subscribed   bool          `json:"subscribed"`
	Delivered    bool          `json:"would_be_delivered"`
	Verdict      string        `json:"verdict"`
	Gates        []explainGate `json:"gates"`
}

type explainGate struct {
	Name string `json:"name"`
	Open bool   `json:"open"`
}

func (a *API) showOccurrence(c call) error {
	o := web.ID[events.OccurrenceID](c, "id")
	r, err := a.use.Occurrences.Show(c.ctx, c.at(), o)
	if err != nil {
		return err
	}
	holds := make([]hold, len(r.Waits))
	for i, h := range r.Waits {
		holds[i] = hold{h.Channel, showWaiting(h.Waiting), h.Ahead}
	}
	return c.answer(http.StatusOK, occurrence{listedOccurrence: c.listed(r), Waiting: holds, ExpectedEnd: timeOrNull(r.Expected),
		RequestID: r.Occurrence.RequestID, Traceparent: r.Occurrence.Traceparent})
}

func (a *API) listOccurrences(c call) error {
	f := c.filters()
	event, correlation := f.idEquals("event"), f.text("correlation_id")
	state, priority := oneOf(f, "state", app.OccurrenceStates()...), priorityFilter(f)
	from, before := f.timestamp("created_after"), f.timestamp("created_before")
	return listing[app.OccurrenceReport]{
		filters: f,
		match: func(r app.OccurrenceReport) bool {
			o := r.Occurrence
			return event(int64(o.Event)) && (correlation == "" || o.CorrelationID == correlation) && (state == "" || r.State == state) &&
				priority(o.Priority) && !o.Created.Before(from) && (before.IsZero() || o.Created.Before(before))
		},
		page: func(ctx context.Context, p app.Page) ([]app.OccurrenceReport, error) {
			return a.use.Occurrences.Page(ctx, c.at(), p)
		},
		id:  func(r app.OccurrenceReport) int64 { return int64(r.Occurrence.ID) },
		row: func(r app.OccurrenceReport) any { return c.listed(r) },
	}.send(c)
}

// priorityFilter returns a predicate for the filter `priority`.
func priorityFilter(f *filters) func(events.Priority) bool {
	var known []string
	for _, p := range events.Priorities() {
		known = append(known, p.String())
	}
	wanted := oneOf(f, "priority", known...)
	return func(p events.Priority) bool { return wanted == "" || p.String() == wanted }
}

// listed returns the part of an occurrence that all responses have.
func (c call) listed(r app.OccurrenceReport) listedOccurrence {
	counts := make(map[deliveries.State]int, len(deliveries.States()))
	for _, s := range deliveries.States() {
		counts[s] = r.Counts[s]
	}
	o, at := r.Occurrence, c.at()
	return listedOccurrence{ID: o.ID, Event: o.Event, State: r.State, Priority: o.Priority.String(), Created: o.Created,
		SendAt: timeOrNull(o.Options.SendAt), ExpiresAt: timeOrNull(o.Options.ExpiresAt), Cancelled: timeOrNull(o.Cancelled),
		CorrelationID: o.CorrelationID, Counts: counts,
		Deliveries: c.url("api", "o", at.Organization, "p", at.Project, "a", at.Application, "occurrences",
			strconv.FormatInt(int64(o.ID), 10), "deliveries")}
}

// cancelled is the response of cancel.
type cancelled struct {
	Occurrence events.OccurrenceID `json:"occurrence"`
	Cancelled  *time.Time          `json:"cancelled"`
}

func (a *API) cancelOccurrence(c call) error {
	o := web.ID[events.OccurrenceID](c, "id")
	at, err := a.use.Occurrences.Cancel(c.ctx, c.actor(), c.at(), o)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, cancelled{o, timeOrNull(at)})
}

// retried is the response of retry.
type retried struct {
	Occurrence events.OccurrenceID `json:"occurrence"`
	Retried    int                 `json:"retried"`
}

func (a *API) retryDeliveries(c call) error {
	o := web.ID[events.OccurrenceID](c, "id")
	n, err := a.use.Retries.Failed(c.ctx, c.actor(), c.at(), o)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, retried{o, n})
}

func (a *API) listDeliveries(c call) error {
	o := web.ID[events.OccurrenceID](c, "id")
	f := c.filters()
	in := oneOf(f, "state", deliveries.States()...)
	user, address, channel := f.equalFold("user"), f.equalFold("address"), f.equalFold("channel")
	return listing[deliveries.Delivery]{
		filters: f,
		match:   func(d deliveries.Delivery) bool { return user(d.Username) && address(d.Address) && channel(d.Channel) },
		page: func(ctx context.Context, p app.Page) ([]deliveries.Delivery, error) {
			return a.use.Occurrences.Deliveries(ctx, c.at(), o, in, p)
		},
		id:  func(d deliveries.Delivery) int64 { return int64(d.ID) },
		row: func(d deliveries.Delivery) any { return showDelivery(d) },
	}.send(c)
}

func (a *API) explainOccurrence(c call) error {
	o := web.ID[events.OccurrenceID](c, "id")
	f, username := c.filters(), ""
	onlyParameters(f.query, &f.faults, "user")
	if strings.TrimSpace(f.query.Get("user")) == "" {
		f.faults.Addf("user", "is required")
	} else {
		username = f.text("user")
	}
	if err := f.faults.Err(); err != nil {
		return err
	}
	e, err := a.use.Occurrences.Explain(c.ctx, c.at(), o, username)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showExplanation(e))
}

func showExplanation(e app.Explanation) explanation {
	shown := explanation{Summary: e.Summary, Candidates: []explainedCandidate{}, Deliveries: []delivery{}}
	for _, w := range e.Candidates {
		way := explainedCandidate{Notification: w.Notification.Name, Address: w.Assignment.Value, Channel: w.Assignment.Name,
			OnList: w.OnList, Subscribed: w.Subscribed && w.SubscriptionActive}
		way.Verdict, way.Delivered = w.Outcome(e.Deliveries)
		for _, g := range w.Gates.All() {
			way.Gates = append(way.Gates, explainGate{Name: g.Name, Open: g.Open})
		}
		shown.Candidates = append(shown.Candidates, way)
	}
	for _, d := range e.Deliveries {
		shown.Deliveries = append(shown.Deliveries, showDelivery(d))
	}
	return shown
}

func showDelivery(d deliveries.Delivery) delivery {
	chosen := choice{d.Choice.Why.String(), d.Choice.String(), d.Choice.AssignedTo, d.Choice.InsteadOf}
	shown := delivery{ID: d.ID, Notification: d.Notification, User: d.Username, Address: d.Address, Channel: d.Channel, Choice: chosen, Protocol: d.Protocol,
		State: d.State, Reason: d.Reason, Attempts: d.Attempts, LastError: d.LastError, Created: d.Created}
	if d.Waiting.For != "" {
		w := showWaiting(d.Waiting)
		shown.Waiting, shown.Next = &w, w.Until
	}
	shown.Finished = timeOrNull(d.Finished)
	return shown
}

func showWaiting(w deliveries.Waiting) waiting {
	return waiting{For: w.For, Text: w.String(), Since: timeOrNull(w.Since), Until: timeOrNull(w.Until), Error: w.Error}
}

// timeOrNull returns a pointer to a time; nil for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
