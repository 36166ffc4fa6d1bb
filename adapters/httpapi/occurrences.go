package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// occurrence is an occurrence as answers show it.
type occurrence struct {
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
	Waiting       []hold                   `json:"waiting"`
	ExpectedEnd   *time.Time               `json:"expected_end"`
	Deliveries    string                   `json:"deliveries"`
}

// waiting is what an open delivery waits for.
type waiting struct {
	For   deliveries.Cause `json:"for"`
	Text  string           `json:"text"`
	Since *time.Time       `json:"since"`
	Until *time.Time       `json:"until"`
	Error string           `json:"error"`
}

// hold is what deliveries of an occurrence wait for on a channel.
type hold struct {
	Channel string `json:"channel"`
	waiting
	Ahead *int `json:"ahead"`
}

// delivery is a delivery as answers show it.
type delivery struct {
	ID           deliveries.ID                `json:"id"`
	Notification subscriptions.NotificationID `json:"notification"`
	User         string                       `json:"user"`
	Address      string                       `json:"address"`
	Channel      string                       `json:"channel"`
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

// explanation is the answer of explain.
type explanation struct {
	Summary    string         `json:"summary"`
	Candidates []explainedWay `json:"candidates"`
	Deliveries []delivery     `json:"deliveries"`
}

// explainedWay is one assignment by which a notification could reach the user.
type explainedWay struct {
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
	o, err := web.ID[events.OccurrenceID](c, "id")
	if err != nil {
		return err
	}
	r, err := a.use.Occurrences.Show(c.ctx, c.at(), o)
	if err != nil {
		return err
	}
	counts := make(map[deliveries.State]int, len(deliveries.States()))
	for _, s := range deliveries.States() {
		counts[s] = r.Counts[s]
	}
	holds := make([]hold, len(r.Holds))
	for i, h := range r.Holds {
		holds[i] = hold{h.Channel, showWaiting(h.Waiting), h.Ahead}
	}
	at := c.at()
	return c.answer(http.StatusOK, occurrence{ID: r.Occurrence.ID, Event: r.Occurrence.Event, State: r.State, Priority: r.Occurrence.Priority.String(), Created: r.Occurrence.Created,
		SendAt: orNull(r.Occurrence.Options.SendAt), ExpiresAt: orNull(r.Occurrence.Options.ExpiresAt), Cancelled: orNull(r.Occurrence.Cancelled),
		CorrelationID: r.Occurrence.CorrelationID, Counts: counts, Waiting: holds, ExpectedEnd: orNull(r.Expected),
		Deliveries: c.url("api", "o", at.Organization, "p", at.Project, "a", at.Application, "occurrences",
			strconv.FormatInt(int64(r.Occurrence.ID), 10), "deliveries")})
}

// cancelled is the answer of cancel.
type cancelled struct {
	Occurrence events.OccurrenceID `json:"occurrence"`
	Cancelled  *time.Time          `json:"cancelled"`
}

func (a *API) cancelOccurrence(c call) error {
	o, err := web.ID[events.OccurrenceID](c, "id")
	if err != nil {
		return err
	}
	at, err := a.use.Occurrences.Cancel(c.ctx, c.actor(), c.at(), o)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, cancelled{o, orNull(at)})
}

func (a *API) listDeliveries(c call) error {
	o, err := web.ID[events.OccurrenceID](c, "id")
	if err != nil {
		return err
	}
	f := c.filters()
	in := among(f, "state", deliveries.States()...)
	user, address, channel := f.like("user"), f.like("address"), f.like("channel")
	return listing[deliveries.Delivery]{
		filters: f,
		keep:    func(d deliveries.Delivery) bool { return user(d.Username) && address(d.Address) && channel(d.Channel) },
		page: func(ctx context.Context, p app.Page) ([]deliveries.Delivery, error) {
			return a.use.Occurrences.Deliveries(ctx, c.at(), o, in, p)
		},
		id:  func(d deliveries.Delivery) int64 { return int64(d.ID) },
		row: func(d deliveries.Delivery) any { return showDelivery(d) },
	}.send(c)
}

func (a *API) explainOccurrence(c call) error {
	o, err := web.ID[events.OccurrenceID](c, "id")
	if err != nil {
		return err
	}
	username := c.QueryParam("user")
	if username == "" {
		return fault.Field("user", "is required")
	}
	e, err := a.use.Occurrences.Explain(c.ctx, c.at(), o, username)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, showExplanation(e))
}

func showExplanation(e app.Explanation) explanation {
	shown := explanation{Summary: e.Summary, Candidates: []explainedWay{}, Deliveries: []delivery{}}
	for _, w := range e.Candidates {
		way := explainedWay{Notification: w.Notification.Name, Address: w.Assignment.Value, Channel: w.Assignment.Name,
			OnList: w.OnList, Subscribed: w.Subscribed && w.SubscriptionActive}
		way.Verdict, way.Delivered = w.Fate(e.Deliveries)
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
	shown := delivery{ID: d.ID, Notification: d.Notification, User: d.Username, Address: d.Address, Channel: d.Channel, Protocol: d.Protocol,
		State: d.State, Reason: d.Reason, Attempts: d.Attempts, LastError: d.LastError, Created: d.Created}
	if d.Waiting.For != "" {
		w := showWaiting(d.Waiting)
		shown.Waiting, shown.Next = &w, w.Until
	}
	shown.Finished = orNull(d.Finished)
	return shown
}

func showWaiting(w deliveries.Waiting) waiting {
	return waiting{For: w.For, Text: w.String(), Since: orNull(w.Since), Until: orNull(w.Until), Error: w.Error}
}

// orNull shows a moment that may be missing.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
