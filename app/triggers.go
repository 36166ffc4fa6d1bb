package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// forecastSamples is how many messages a dry run renders.
const forecastSamples = 5

// Triggers lets applications announce that an event happened (decisions 6).
type Triggers struct {
	store    ports.Store
	composer delivery.Composer
	clock    ports.Clock
	quotas   *Quotas
}

// NewTriggers returns the use cases of triggering.
func NewTriggers(store ports.Store, composer delivery.Composer, clock ports.Clock, quotas *Quotas) *Triggers {
	return &Triggers{store: store, composer: composer, clock: clock, quotas: quotas}
}

// Trigger is what a caller says of an occurrence.
type Trigger struct {
	Context       events.Context
	Options       events.Options
	CorrelationID string
	Request       *deliveries.Request // nil: not repeatable
	// IgnoreUnknown leaves people out whom the organization does not know, instead of refusing the trigger.
	IgnoreUnknown bool
}

// Trigger records an occurrence. When it returns, the occurrence is on disk and its messages will go out. A request that was seen
// before is answered with the occurrence of then, even if it would be refused now. Errors: events.ErrNotFound, ErrInactive,
// ErrApplicationInactive, ErrKeyReused, *quotas.Exceeded, and a fault that names every unknown channel and person of the options.
func (t *Triggers) Trigger(
	ctx context.Context, by audit.Actor, at Path, event string, what Trigger,
) (stored events.Occurrence, repeated bool, err error) {
	err = t.store.Update(ctx, func(tx ports.Tx) error {
		o, refusal, err := t.occurrence(ctx, tx, at, event, what)
		if err != nil {
			return err
		}
		if refusal != nil && what.Request == nil {
			return refusal
		}
		stored, repeated, err = tx.Deliveries().Trigger(ctx, o, what.Request)
		if err != nil || repeated {
			return err
		}
		if refusal != nil {
			return refusal // What was stored goes with it.
		}
		return tx.Audit().Record(ctx, audit.Entry{Organization: stored.Organization, Actor: by, At: stored.Created, Action: audit.EventTriggered,
			Object: at.object("e", event), After: occurrenceState(stored)})
	})
	if err == nil && !repeated {
		t.quotas.Kept(stored.Organization, len(what.Context))
	}
	return stored, repeated, err
}

// occurrenceState is what the audit log tells of an occurrence, which itself tells the rest.
func occurrenceState(o events.Occurrence) audit.State {
	s := audit.State{"occurrence": o.ID}
	if o.CorrelationID != "" {
		s["cid"] = o.CorrelationID
	}
	if n := len(o.Options.LimitTo); n > 0 {
		s["limit_to"] = n
	}
	if len(o.Options.Channels) > 0 {
		s["channels"] = o.Options.Channels
	}
	return s
}

// occurrence returns what would be stored, and the refusal if it may not be.
func (t *Triggers) occurrence(ctx context.Context, tx ports.Tx, at Path, event string, what Trigger) (o events.Occurrence, refusal, err error) {
	app, err := application(ctx, tx, at)
	if err != nil {
		return events.Occurrence{}, nil, err
	}
	e, err := tx.Events().BySlug(ctx, app, event)
	if err != nil {
		return events.Occurrence{}, nil, err
	}
	o = events.Occurrence{Organization: app.Organization, Project: app.Project, Application: app.ID, Event: e.ID,
		Context: what.Context, Options: what.Options, CorrelationID: what.CorrelationID, Created: t.clock.Now()}
	switch {
	case !app.Active:
		return o, events.ErrApplicationInactive, nil
	case !e.Active:
		return o, events.ErrInactive, nil
	}
	if refusal, err = t.quotas.Context(ctx, tx, o.Organization, len(o.Context)); err != nil || refusal != nil {
		return o, refusal, err
	}
	unknown, err := tx.Deliveries().Unknown(ctx, o)
	if what.IgnoreUnknown {
		unknown.People = nil
	}
	return o, unknown.Fault(), err
}

// Forecast is what would become of an occurrence.
type Forecast struct {
	Groups   []deliveries.Group
	Messages []ForecastMessage // the first of those that would be sent
}

// ForecastMessage is a rendered message, or why it could not be rendered.
type ForecastMessage struct {
	Notification string
	Channel      string
	Message      deliveries.Message
	Error        string
}

// DryRun returns what Trigger would do and writes nothing. Without mayRead it only counts: the forecast holds no message and no name.
func (t *Triggers) DryRun(ctx context.Context, at Path, event string, what Trigger, mayRead bool) (f Forecast, err error) {
	samples := 0
	if mayRead {
		samples = forecastSamples
	}
	err = t.store.View(ctx, func(tx ports.Tx) error {
		o, refusal, err := t.occurrence(ctx, tx, at, event, what)
		if err := cmp.Or(err, refusal); err != nil {
			return err
		}
		done, err := t.quotas.DryRun(ctx, tx, o.Organization)
		if err != nil {
			return err
		}
		defer done()
		var jobs []deliveries.Job
		if f.Groups, jobs, err = tx.Deliveries().Forecast(ctx, o, samples); err != nil {
			return err
		}
		for _, j := range jobs {
			in, err := tx.Deliveries().RenderInput(ctx, o, j.Notification, j.Template)
			if err != nil {
				return err
			}
			sample := ForecastMessage{Notification: in.Notification.Name, Channel: in.Channel.Name}
			if sample.Message, err = t.composer.Compose(in, j); err != nil {
				sample.Error = err.Error()
			}
			f.Messages = append(f.Messages, sample)
		}
		return nil
	})
	return f, err
}

// Triggerable is an event with what can be said when it is triggered.
type Triggerable struct {
	Application applications.Application
	Event       events.Event
	Channels    []string // names of those that it may use
}

// Show returns an event as it can be triggered; events.ErrNotFound.
func (t *Triggers) Show(ctx context.Context, at Path, event string) (found Triggerable, err error) {
	err = t.store.View(ctx, func(tx ports.Tx) error {
		found = Triggerable{}
		if found.Application, err = application(ctx, tx, at); err != nil {
			return err
		}
		if found.Event, err = tx.Events().BySlug(ctx, found.Application, event); err != nil {
			return err
		}
		if found.Channels = channelNames(found.Event.Channels); len(found.Channels) > 0 {
			return nil
		}
		for _, project := range []orgs.ProjectID{found.Application.Project, 0} {
			all, err := tx.Channels().List(ctx, found.Application.Organization, project, 0, MaxShown)
			if err != nil {
				return err
			}
			for _, c := range all {
				if c.Active && !slices.Contains(found.Channels, c.Name) { // A project's hides the organization's.
					found.Channels = append(found.Channels, c.Name)
				}
			}
		}
		return nil
	})
	return found, err
}

func channelNames(all []events.Channel) []string {
	named := make([]string, len(all))
	for i, c := range all {
		named[i] = c.Name
	}
	return named
}
