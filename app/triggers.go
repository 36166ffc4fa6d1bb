package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/ports"
)

// forecastSamples is how many messages a dry run renders.
const forecastSamples = 5

// countedTogether is the largest number of concurrent triggers whose recipients are counted: with
// more, speed matters more.
const countedTogether = 4

// Triggers is the use case of announcing events (decisions 6).
type Triggers struct {
	store      ports.Store
	composer   delivery.Composer
	clock      ports.Clock
	quotas     *Quotas
	triggering *batch.Batcher[eventPath, triggering]
	schemas    schemaCache
}

// NewTriggers returns the use cases of triggering.
func NewTriggers(store ports.Store, composer delivery.Composer, clock ports.Clock, quotas *Quotas) *Triggers {
	t := &Triggers{store: store, composer: composer, clock: clock, quotas: quotas}
	t.triggering = batch.New(t.trigger, (*triggering).request)
	return t
}

// Trigger is a caller's request for an occurrence.
type Trigger struct {
	Context       events.Context
	Options       events.Options
	CorrelationID string
	RequestID     string            // of the call, as in the log
	Traceparent   string            // of the caller (W3C Trace Context); empty: none
	Request       *requests.Request // nil: not repeatable
	// IgnoreUnknown leaves out people who are no members of the organization, instead of refusing
	// the trigger.
	IgnoreUnknown bool
	Priority      *events.Priority // nil: the event's
	AtMostNormal  bool             // the caller may not trigger urgent occurrences
}

// priority returns the class of the occurrence. An urgent event is normal for a caller who may not
// trigger urgent ones.
func (t Trigger) priority(e events.Event) events.Priority {
	p := e.Priority
	if t.Priority != nil {
		p = *t.Priority
	}
	if t.AtMostNormal {
		p = max(p, events.Normal)
	}
	return p
}

// Trigger records an occurrence. When it returns, the occurrence is on disk and its messages will
// go out. A repeated request gets the first occurrence, even if it would be refused now. Concurrent
// calls for one event are stored together. Errors: events.ErrNotFound, ErrInactive,
// ErrApplicationInactive, requests.ErrReused, *quotas.Exceeded, and a fault that names all
// violations of the event's schema and all unknown channels and people in the options.
func (t *Triggers) Trigger(
	ctx context.Context, by audit.Actor, at Path, event string, what Trigger,
) (stored events.Occurrence, repeated bool, err error) {
	c := &triggering{Trigger: what, by: by}
	if err := t.triggering.Do(ctx, eventPath{at, event}, c); err != nil {
		return events.Occurrence{}, false, err
	}
	return c.done.Occurrence, c.done.Repeated, c.done.Err
}

// eventPath names an event.
type eventPath struct {
	Path
	event string
}

// triggering is a call of Trigger under way.
type triggering struct {
	Trigger
	by   audit.Actor
	done deliveries.TriggerResult
}

// request identifies a repeatable call; empty when it is not.
func (c *triggering) request() string {
	if c.Request == nil {
		return ""
	}
	return fmt.Sprint(c.Request.Key, " ", c.Request.IdempotencyKey)
}

// trigger records the occurrences of several calls, no two of which have the same request.
func (t *Triggers) trigger(ctx context.Context, at eventPath, calls []*triggering) error {
	var done []deliveries.TriggerResult
	whats := make([]Trigger, len(calls))
	for i, c := range calls {
		whats[i] = c.Trigger
	}
	update := func(tx ports.Tx, fit contextFit) error {
		ts, err := t.occurrences(ctx, tx, at, whats, fit, live)
		if err != nil {
			return err
		}
		if len(calls) <= countedTogether {
			if err := tx.Deliveries().CountRecipients(ctx, ts); err != nil {
				return err
			}
		}
		if done, err = tx.Deliveries().Trigger(ctx, ts); err != nil {
			return err
		}
		var entries []audit.Entry
		for i, d := range done {
			if d.Err == nil && !d.Repeated {
				entries = append(entries, audit.Entry{Organization: d.Occurrence.Organization, Actor: calls[i].by, At: d.Occurrence.Created,
					Action: audit.EventTriggered, Object: at.Object("e", at.event), After: occurrenceState(d.Occurrence)})
			}
		}
		return tx.Audit().Record(ctx, entries...)
	}
	err := t.fitting(whats, func(fit contextFit) error {
		return t.store.Update(ctx, func(tx ports.Tx) error { return update(tx, fit) })
	})
	if err != nil {
		return err
	}
	for i, c := range calls {
		c.done = done[i]
		if c.done.Err == nil && !c.done.Repeated {
			t.quotas.RecordContext(c.done.Occurrence.Organization, len(c.Context))
		}
	}
	return nil
}

// occurrenceState returns the entry of an occurrence in the audit log; the occurrence itself has
// the rest.
func occurrenceState(o events.Occurrence) audit.State {
	s := audit.State{"occurrence": o.ID}
	if o.CorrelationID != "" {
		s["cid"] = o.CorrelationID
	}
	if n := len(o.Options.LimitTo); n > 0 {
		s["limit_to"] = n
	}
	if o.Priority != events.Normal {
		s["priority"] = o.Priority.String()
	}
	if len(o.Options.Channels) > 0 {
		s["channels"] = o.Options.Channels
	}
	if at := o.Options.SendAt; !at.IsZero() {
		s["send_at"] = at.UTC().Format(time.RFC3339)
	}
	if at := o.Options.ExpiresAt; !at.IsZero() {
		s["expires_at"] = at.UTC().Format(time.RFC3339)
	}
	return s
}

// occurrences returns what would be stored for each call, or its refusal.
func (t *Triggers) occurrences(
	ctx context.Context, tx ports.Tx, at eventPath, whats []Trigger, fit contextFit, of liveness,
) ([]deliveries.TriggerRequest, error) {
	app, err := application(ctx, tx, at.Path)
	if err != nil {
		return nil, err
	}
	e, err := tx.Events().BySlug(ctx, app, at.event)
	if err != nil {
		return nil, err
	}
	if e.Schema != fit.schema {
		return nil, uncheckedContext(e.Schema)
	}
	now := t.clock.Now()
	untimely := make([]error, len(whats))
	ts, os := make([]deliveries.TriggerRequest, len(whats)), make([]events.Occurrence, len(whats))
	for i, what := range whats {
		what.Options, untimely[i] = what.Options.Resolve(now)
		os[i] = events.Occurrence{Organization: app.Organization, Project: app.Project, Application: app.ID, Event: e.ID,
			Context: what.Context, Options: what.Options, Priority: what.priority(e), CorrelationID: what.CorrelationID, RequestID: what.RequestID, Traceparent: what.Traceparent, Created: now}
		ts[i] = deliveries.TriggerRequest{Occurrence: os[i], Request: what.Request}
	}
	unknown, err := tx.Deliveries().Unknown(ctx, os)
	if err != nil {
		return nil, err
	}
	stored := 0 // bytes of contexts by the calls before
	for i, what := range whats {
		if what.IgnoreUnknown {
			unknown[i].People = nil
		}
		switch {
		case !app.Active:
			ts[i].Refusal = events.ErrApplicationInactive
		case !e.Active && of == live:
			ts[i].Refusal = events.ErrInactive
		default:
			if ts[i].Refusal, err = t.quotas.Context(ctx, tx, app.Organization, len(os[i].Context), stored); err != nil {
				return nil, err
			}
			ts[i].Refusal = cmp.Or(ts[i].Refusal, fit.fault(i, unknown[i], untimely[i]))
		}
		if ts[i].Refusal == nil {
			stored += len(os[i].Context)
		}
	}
	return ts, nil
}

// Forecast is the expected result of an occurrence.
type Forecast struct {
	Groups   []deliveries.Group
	People   int               // with at least one message
	Messages []ForecastMessage // samples of those that would be sent
}

// ForecastMessage is a rendered message, or why it could not be rendered.
type ForecastMessage struct {
	Notification     string
	Channel          string
	Message          deliveries.Message
	MissingVariables []string // the variables without a value, each with its place
	Error            string
}

// DryRun returns what Trigger would do and writes nothing. Without mayRead it only counts: the
// forecast contains no message and no name.
func (t *Triggers) DryRun(ctx context.Context, at Path, event string, what Trigger, mayRead bool) (Forecast, error) {
	samples := 0
	if mayRead {
		samples = forecastSamples
	}
	return t.dryRun(ctx, at, event, what, live, samples)
}

// Try returns what Trigger would do once the event is active, and writes nothing.
func (t *Triggers) Try(ctx context.Context, at Path, event string, what Trigger) (Forecast, error) {
	return t.dryRun(ctx, at, event, what, drafts, forecastSamples)
}

// liveness says which events a use case accepts.
type liveness bool

const (
	live   liveness = false // active ones
	drafts liveness = true  // inactive ones as well
)

func (t *Triggers) dryRun(ctx context.Context, at Path, event string, what Trigger, of liveness, samples int) (f Forecast, err error) {
	whats := []Trigger{what}
	err = t.fitting(whats, func(fit contextFit) error {
		done := func(context.Context) {}
		defer func() { done(ctx) }() // after the View: a pause holds no connection
		return t.store.View(ctx, func(tx ports.Tx) error {
			ts, err := t.occurrences(ctx, tx, eventPath{at, event}, whats, fit, of)
			if err != nil {
				return err
			}
			if ts[0].Refusal != nil {
				return ts[0].Refusal
			}
			begun, err := t.quotas.DryRun(ctx, tx, ts[0].Occurrence.Organization)
			if err != nil {
				return err
			}
			done = begun
			f, err = t.forecast(ctx, tx, ts[0].Occurrence, samples)
			return err
		})
	})
	return f, err
}

func (t *Triggers) forecast(ctx context.Context, tx ports.Tx, o events.Occurrence, samples int) (f Forecast, err error) {
	would, err := tx.Deliveries().Forecast(ctx, o, samples)
	if err != nil {
		return f, err
	}
	f.Groups, f.People = would.Groups, would.People
	for _, j := range would.Jobs {
		in, err := tx.Deliveries().RenderInput(ctx, o, j.Notification, j.Template)
		if err != nil {
			return f, err
		}
		sample := ForecastMessage{Notification: in.Notification.Name, Channel: in.Channel.Name}
		if sample.Message, err = t.composer.Compose(in, j); err != nil {
			sample.Error = err.Error()
		} else {
			sample.MissingVariables = t.composer.MissingVariables(in, j)
		}
		f.Messages = append(f.Messages, sample)
	}
	return f, nil
}

// Triggerable is an event with the options for triggering it.
type Triggerable struct {
	EventReport

	Channels []string // names of those that it may use, and of its pools
}

// Show returns an event with its options; events.ErrNotFound.
func (t *Triggers) Show(ctx context.Context, at Path, event string) (Triggerable, error) {
	return ports.View(ctx, t.store, func(tx ports.Tx) (found Triggerable, err error) {
		if found.EventReport, err = eventOf(ctx, tx, at, event); err != nil {
			return found, err
		}
		if found.Channels = limitNames(found.Event); len(found.Channels) > 0 {
			return found, nil
		}
		for _, c := range found.Usable {
			if c.Active && !slices.Contains(found.Channels, c.Name) { // A project's hides the organization's.
				found.Channels = append(found.Channels, c.Name)
			}
		}
		return found, nil
	})
}

// limitNames returns the names of the channels and pools that an event is limited to, each once.
func limitNames(e events.Event) []string {
	named := poolNames(e.Pools)
	for _, c := range e.Channels {
		if !slices.Contains(named, c.Name) {
			named = append(named, c.Name)
		}
	}
	return named
}

func poolNames(all []events.Pool) []string {
	named := make([]string, len(all))
	for i, p := range all {
		named[i] = p.Name
	}
	return named
}
