package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/app/batch"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// forecastSamples is how many messages a dry run renders.
const forecastSamples = 5

// maxCountedTriggers is the largest number of concurrent triggers whose recipients are counted:
// with more, speed matters more.
const maxCountedTriggers = 4

// Triggers is the use case of announcing events (decisions 6).
type Triggers struct {
	store    ports.Store
	composer delivery.Composer
	clock    ports.Clock
	quotas   *Quotas
	triggers *batch.Batcher[eventPath, triggerCall]
	schemas  schemaCache
}

// NewTriggers returns the use cases of triggering.
func NewTriggers(store ports.Store, composer delivery.Composer, clock ports.Clock, quotas *Quotas) *Triggers {
	t := &Triggers{store: store, composer: composer, clock: clock, quotas: quotas}
	t.triggers = batch.New(batch.Pair, t.trigger, (*triggerCall).request, (*triggerCall).names)
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
	// IgnoreUnknown leaves out people who are not members of the organization, instead of refusing
	// the trigger.
	IgnoreUnknown bool
	Priority      *events.Priority // nil: the event's
	AtMostNormal  bool             // the caller may not trigger urgent occurrences
	RefusePast    bool             // a SendAt that has passed is refused; else it means at once
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
	ctx context.Context, by audit.Actor, at Path, event string, trigger Trigger,
) (stored events.Occurrence, repeated bool, err error) {
	c := &triggerCall{Trigger: trigger, by: by}
	if err := t.triggers.Do(ctx, eventPath{at, event}, c); err != nil {
		return events.Occurrence{}, false, err
	}
	return c.done.Occurrence, c.done.Repeated, c.done.Err
}

// eventPath names an event.
type eventPath struct {
	Path
	event string
}

// triggerCall is a call of Trigger under way.
type triggerCall struct {
	Trigger
	by   audit.Actor
	done deliveries.TriggerResult
}

// request identifies a repeatable call; empty when it is not.
func (c *triggerCall) request() string {
	if c.Request == nil {
		return ""
	}
	return fmt.Sprint(c.Request.Key, " ", c.Request.IdempotencyKey)
}

// names returns how many people it names. They are looked up while other writes wait.
func (c *triggerCall) names() int { return len(c.Options.LimitTo) }

// trigger records the occurrences of several calls, no two of which have the same request.
func (t *Triggers) trigger(ctx context.Context, at eventPath, calls []*triggerCall) error {
	var done []deliveries.TriggerResult
	triggers := make([]Trigger, len(calls))
	for i, c := range calls {
		triggers[i] = c.Trigger
	}
	update := func(tx ports.Tx, check contextCheck) error {
		ts, err := t.occurrences(ctx, tx, at, triggers, check, activeOnly)
		if err != nil {
			return err
		}
		if len(calls) <= maxCountedTriggers {
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
	err := t.withCheckedContexts(ctx, triggers, func(check contextCheck) error {
		return t.store.Update(ctx, func(tx ports.Tx) error { return update(tx, check) })
	})
	if err != nil {
		return err
	}
	for i, c := range calls {
		c.done = done[i]
		if c.done.Err == nil && !c.done.Repeated {
			t.quotas.recordContext(c.done.Occurrence.Organization, len(c.Context))
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
	ctx context.Context, tx ports.Tx, at eventPath, triggers []Trigger, check contextCheck, of eventFilter,
) ([]deliveries.TriggerRequest, error) {
	app, e, err := tx.Events().ByPath(ctx, access.Scope(at.Path), at.event)
	if err != nil {
		return nil, err
	}
	if e.Schema != check.schema {
		return nil, uncheckedContext{org: app.Organization, text: e.Schema}
	}
	now := t.clock.Now()
	decisive := now
	if slices.ContainsFunc(triggers, func(t Trigger) bool { return !t.Options.SendAt.IsZero() || !t.Options.ExpiresAt.IsZero() }) {
		if decisive, err = tx.Deliveries().StoreTime(ctx, now); err != nil {
			return nil, err
		}
	}
	optionFaults := make([]error, len(triggers))
	ts, os := make([]deliveries.TriggerRequest, len(triggers)), make([]events.Occurrence, len(triggers))
	for i, trigger := range triggers {
		if trigger.RefusePast {
			optionFaults[i] = trigger.Options.CheckAhead(decisive)
		}
		resolved, err := trigger.Options.Resolve(decisive)
		trigger.Options, optionFaults[i] = resolved, cmp.Or(optionFaults[i], err)
		os[i] = events.Occurrence{Organization: app.Organization, Project: app.Project, Application: app.ID, Event: e.ID,
			Context: trigger.Context, Options: trigger.Options, Priority: trigger.priority(e), CorrelationID: trigger.CorrelationID, RequestID: trigger.RequestID, Traceparent: trigger.Traceparent, Created: now}
	}
	unknown, err := unknownIn(ctx, tx, at.Organization, os)
	if err != nil {
		return nil, err
	}
	stored := 0 // bytes of contexts by the calls before
	for i, trigger := range triggers {
		ts[i] = deliveries.TriggerRequest{Occurrence: os[i], Request: trigger.Request}
		if trigger.IgnoreUnknown {
			unknown[i].People = nil
		}
		switch {
		case !app.Active:
			ts[i].Refusal = events.ErrApplicationInactive
		case !e.Active && of == activeOnly:
			ts[i].Refusal = events.ErrInactive
		default:
			if ts[i].Refusal, err = t.quotas.context(ctx, tx, app.Organization, len(os[i].Context), stored); err != nil {
				return nil, err
			}
			ts[i].Refusal = cmp.Or(ts[i].Refusal, check.fault(i, unknown[i], optionFaults[i]))
		}
		if ts[i].Refusal == nil {
			stored += len(os[i].Context)
		}
	}
	return ts, nil
}

// unknownIn returns what is unknown of the options of occurrences in the organization. In os it
// changes phone numbers without country code, which are no usernames, to those of the region.
func unknownIn(ctx context.Context, tx ports.Tx, organization string, os []events.Occurrence) ([]events.Unknown, error) {
	unknown, err := tx.Deliveries().Unknown(ctx, os)
	national := func(u events.Unknown) bool { return slices.ContainsFunc(u.People, users.IsNational) }
	if err != nil || !slices.ContainsFunc(unknown, national) {
		return unknown, err
	}
	org, err := tx.Orgs().BySlug(ctx, organization)
	if err != nil || org.Region == "" {
		return unknown, err
	}
	for i, u := range unknown {
		if national(u) {
			os[i].Options = os[i].Options.InRegion(org.Region, u.People)
		}
	}
	return tx.Deliveries().Unknown(ctx, os)
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
func (t *Triggers) DryRun(ctx context.Context, at Path, event string, trigger Trigger, mayRead bool) (Forecast, error) {
	samples := 0
	if mayRead {
		samples = forecastSamples
	}
	return t.dryRun(ctx, at, event, trigger, activeOnly, samples)
}

// Try returns what Trigger would do once the event is active, and writes nothing.
func (t *Triggers) Try(ctx context.Context, at Path, event string, trigger Trigger) (Forecast, error) {
	return t.dryRun(ctx, at, event, trigger, includeInactive, forecastSamples)
}

// eventFilter says which events a use case accepts.
type eventFilter bool

const (
	activeOnly      eventFilter = false // active ones
	includeInactive eventFilter = true  // inactive ones as well
)

func (t *Triggers) dryRun(ctx context.Context, at Path, event string, trigger Trigger, of eventFilter, samples int) (f Forecast, err error) {
	triggers := []Trigger{trigger}
	var done func(context.Context)
	defer func() {
		if done != nil {
			done(ctx) // after the View: a pause holds no connection
		}
	}()
	err = t.withCheckedContexts(ctx, triggers, func(check contextCheck) error {
		return t.store.View(ctx, func(tx ports.Tx) error {
			if done == nil { // before the context is checked, which is work, too
				app, _, err := tx.Events().ByPath(ctx, access.Scope(at), event)
				if err != nil {
					return err
				}
				if done, err = t.quotas.dryRun(ctx, tx, app.Organization); err != nil {
					return err
				}
			}
			ts, err := t.occurrences(ctx, tx, eventPath{at, event}, triggers, check, of)
			if err != nil {
				return err
			}
			if ts[0].Refusal != nil {
				return ts[0].Refusal
			}
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
		if sample.Message, err = delivery.Compose(t.composer, in, j); err != nil {
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
