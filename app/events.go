package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// Events is the use cases on an application's events: what they announce, through which channels,
// and to whom.
type Events struct {
	store  ports.Store
	limits *quotas.Defaults
}

// NewEvents returns the use cases on events and notifications. limits are for organizations without
// limits of their own.
func NewEvents(store ports.Store, limits *quotas.Defaults) *Events {
	return &Events{store: store, limits: limits}
}

// EventForm is what an operator enters for an event.
type EventForm struct {
	Slug              string // of a new one
	Name, Description string
	Active            bool
	Example           string // of a context: a JSON object; empty: none
	Schema            string // of contexts: a JSON Schema; empty: none
	Priority          string // empty: normal
	Channels          []channels.ID
	Pools             []string // by name
	// Outdated is set when the form showed other values than the stored ones. It is refused if it
	// changes anything.
	Outdated bool
	// Refusal is the mistakes that were found while the input was read; nil: none. The form is
	// refused with them and its own.
	Refusal error
}

// EventReport is an event with all that belongs to it.
type EventReport struct {
	EventParts

	Application applications.Application
	Event       events.Event
	Lists       map[lists.ID]lists.List // of the notifications
	MoreLists   bool                    // the project has more lists than Audience returns
}

// MaxNotifications is how many notifications of an event a report holds at most.
const MaxNotifications = 500

// Show returns an event of the path's application; orgs.ErrNotFound, orgs.ErrProjectNotFound,
// applications.ErrNotFound, events.ErrNotFound.
func (s *Events) Show(ctx context.Context, at Path, slug string) (EventReport, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (EventReport, error) {
		r, err := eventOf(ctx, tx, at, slug)
		if err == nil {
			r.Lists, err = listsOf(ctx, tx, r.Application, r.Notifications, nil)
		}
		return r, err
	})
}

// Usable returns the channels that events of the path's application may use, the project's first,
// without settings.
func (s *Events) Usable(ctx context.Context, at Path) ([]channels.Channel, error) {
	return viewAt(ctx, s.store, at, application, func(tx ports.Tx, app applications.Application) ([]channels.Channel, error) {
		return usableChannels(ctx, tx, app.Organization, app.Project)
	})
}

// Create makes an event; faults about the form, events.ErrSlugTaken, *quotas.Exceeded.
func (s *Events) Create(ctx context.Context, by audit.Actor, at Path, f EventForm) (made events.Event, err error) {
	err = withParsedSchemas(ctx, func(ctx context.Context) error {
		if err := unparsed(ctx, f); err != nil { // The form is known, so no unit has to end for it.
			return err
		}
		made, err = updateAt(ctx, s.store, at, s.revise, func(tx ports.Tx, app applications.Application) (made events.Event, err error) {
			e, err := f.event(ctx, tx, app, events.Event{Organization: app.Organization, Application: app.ID, Slug: f.Slug})
			if err != nil {
				return made, err
			}
			return createEvent(ctx, tx, by, s.limits, at, e)
		})
		return err
	})
	return made, err
}

// createEvent stores a new event of the path's application; events.ErrSlugTaken, *quotas.Exceeded.
func createEvent(ctx context.Context, tx ports.Tx, by audit.Actor, limits *quotas.Defaults, at Path, e events.Event) (events.Event, error) {
	made, err := tx.Events().Create(ctx, e)
	if err != nil {
		return made, fieldOf("slug", events.ErrSlugTaken, err)
	}
	if err := WithinQuota(ctx, tx, limits, made.Organization, quotas.Events); err != nil {
		return made, err
	}
	return made, record(ctx, tx, by, made.Organization, audit.EventCreated, at.Object("e", made.Slug), nil, eventState(made))
}

// Patch calls change with a form of the stored event, and saves the changed form: everything but
// the slug. change may be called more than once. Faults about the form, events.ErrNotFound,
// ErrOutdated.
func (s *Events) Patch(ctx context.Context, by audit.Actor, at Path, slug string, change func(*EventForm)) (is events.Event, err error) {
	err = withParsedSchemas(ctx, func(ctx context.Context) error {
		is, err = updateAt(ctx, s.store, at, s.revise, func(tx ports.Tx, app applications.Application) (events.Event, error) {
			return patchEvent(ctx, tx, by, at, app, slug, change)
		})
		return err
	})
	return is, err
}

func patchEvent(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, app applications.Application, slug string, change func(*EventForm)) (is events.Event, err error) {
	was, err := tx.Events().BySlug(ctx, app, slug)
	if err != nil {
		return is, err
	}
	f := NewEventForm(was)
	change(&f)
	if is, err = f.event(ctx, tx, app, was); err != nil {
		return is, err
	}
	if _, after := audit.Changed(eventState(was), eventState(is)); len(after) == 0 && slices.Equal(is.Channels, was.Channels) && slices.Equal(is.Pools, was.Pools) {
		return is, nil
	}
	if f.Outdated {
		return is, ErrOutdated
	}
	return is, saveEvent(ctx, tx, by, at, was, is)
}

func saveEvent(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, was, is events.Event) error {
	if err := tx.Events().Save(ctx, is); err != nil {
		return err
	}
	before, after := audit.Changed(eventState(was), eventState(is))
	return record(ctx, tx, by, is.Organization, audit.EventUpdated, at.Object("e", is.Slug), before, after)
}

// NewEventForm returns the form of an event as it is.
func NewEventForm(e events.Event) EventForm {
	f := EventForm{Slug: e.Slug, Name: e.Name, Description: e.Description, Active: e.Active, Example: e.Example, Schema: e.Schema, Priority: e.Priority.String()}
	for _, c := range e.Channels {
		f.Channels = append(f.Channels, c.ID)
	}
	for _, p := range e.Pools {
		f.Pools = append(f.Pools, p.Name)
	}
	return f
}

// Delete removes an event that nothing uses, with its templates; events.ErrNotFound,
// events.ErrInUse naming what does.
func (s *Events) Delete(ctx context.Context, by audit.Actor, at Path, slug string) error {
	return changeAt(ctx, s.store, at, s.revise, func(tx ports.Tx, app applications.Application) error {
		e, err := tx.Events().BySlug(ctx, app, slug)
		if err != nil {
			return err
		}
		return deleteEvent(ctx, tx, by, at, e)
	})
}

func deleteEvent(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, e events.Event) error {
	if err := tx.Events().Delete(ctx, e); err != nil {
		return err
	}
	return record(ctx, tx, by, e.Organization, audit.EventDeleted, at.Object("e", e.Slug), eventState(e), nil)
}

// revise finds the path's application in a unit of work that changes part of it.
func (s *Events) revise(ctx context.Context, tx ports.Tx, at Path) (applications.Application, error) {
	app, err := application(ctx, tx, at)
	if err != nil {
		return app, err
	}
	return app, tx.Orgs().Revise(ctx, app.Organization)
}

// event returns an event of the application, which was this one, as the form says. It names all
// mistakes of the form.
func (f EventForm) event(ctx context.Context, tx ports.Tx, app applications.Application, was events.Event) (events.Event, error) {
	is := was
	checked, wrong := events.New(was.Slug, f.Name, f.Description)
	is.Slug, is.Name, is.Description, is.Active = checked.Slug, checked.Name, checked.Description, f.Active
	var wrongExample, wrongSchema, wrongPriority, wrongLimits error
	is.Example, wrongExample = events.ParseExample("example", f.Example)
	is.Schema, wrongSchema = parseSchema(ctx, was, f, is.Example)
	if _, unparsed := errors.AsType[unparsedSchema](wrongSchema); unparsed {
		return is, wrongSchema
	}
	is.Priority, wrongPriority = events.ParsePriority("priority", f.Priority)
	is.Channels, is.Pools, wrongLimits = f.limits(ctx, tx, app, was.Pools)
	return is, fault.Join(f.Refusal, wrong, wrongExample, wrongSchema, wrongPriority, wrongLimits)
}

// limits finds the channels and pools that an event is limited to among those that its application
// may use. had are its present pools.
func (f EventForm) limits(ctx context.Context, tx ports.Tx, app applications.Application, had []events.Pool) ([]events.Channel, []events.Pool, error) {
	if len(f.Channels) == 0 && len(f.Pools) == 0 {
		return nil, nil, nil
	}
	usable, err := usableChannels(ctx, tx, app.Organization, app.Project)
	if err != nil {
		return nil, nil, err
	}
	var limited []events.Channel
	for _, c := range usable {
		if slices.Contains(f.Channels, c.ID) {
			limited = append(limited, events.Channel{ID: c.ID, Name: c.Name})
		}
	}
	var unknown error
	if len(limited) < len(slices.Compact(slices.Sorted(slices.Values(f.Channels)))) {
		unknown = fault.Field("channels", "%s", channels.ErrNotFound.Error())
	}
	slices.SortFunc(limited, events.Channel.Compare)
	pools, err := events.PoolsNamed(events.Pools(usable), had, f.Pools)
	return limited, pools, fault.Join(unknown, err)
}
