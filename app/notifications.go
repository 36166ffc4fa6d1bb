package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/ports"
)

// NotificationForm is what an operator enters for a notification.
type NotificationForm struct {
	Name   string
	List   lists.ID // 0: none
	Active bool
	// Outdated is set when the form showed other values than the stored ones. It is refused if it
	// changes anything.
	Outdated bool
}

// NewNotificationForm returns the form of a notification as it is.
func NewNotificationForm(n subscriptions.Notification) NotificationForm {
	return NotificationForm{Name: n.Name, List: n.List, Active: n.Active}
}

// NotificationReport is a notification with all that belongs to it.
type NotificationReport struct {
	Application  applications.Application
	Event        events.Event
	Notification subscriptions.Notification
	Templates    []events.Template // its own; without one, the template of its event, in EventParts, is used
	Parts        EventParts        // of its event; it may have templates for the same channels
	Lists        []lists.List      // that it may use
	MoreLists    bool              // the project has more
}

// ShowNotification returns a notification of an event; events.ErrNotFound,
// subscriptions.ErrNotificationNotFound.
func (s *Events) ShowNotification(ctx context.Context, at Path, event string, id subscriptions.NotificationID) (NotificationReport, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (r NotificationReport, err error) {
		if r.Application, r.Event, r.Notification, err = notificationOf(ctx, tx, at, event, id); err != nil {
			return r, err
		}
		if r.Templates, err = tx.Subscriptions().Templates(ctx, r.Notification); err != nil {
			return r, err
		}
		inherited, err := tx.Events().Templates(ctx, r.Event)
		if err != nil {
			return r, err
		}
		if r.Parts, err = eventParts(ctx, tx, r.Application, r.Event, inherited); err != nil {
			return r, err
		}
		r.Lists, r.MoreLists, err = usableLists(ctx, tx, r.Application, r.Notification.List)
		return r, err
	})
}

// CreateNotification creates a notification of an event; faults about the form, events.ErrNotFound,
// subscriptions.ErrNameTaken.
func (s *Events) CreateNotification(ctx context.Context, by audit.Actor, at Path, event string, f NotificationForm) (made subscriptions.Notification, err error) {
	n, err := subscriptions.NewNotification(f.Name)
	if err != nil {
		return n, err
	}
	return updateAt(ctx, s.store, at, s.revise, func(tx ports.Tx, app applications.Application) (made subscriptions.Notification, err error) {
		e, err := tx.Events().BySlug(ctx, app, event)
		if err != nil {
			return made, err
		}
		n.Application, n.Event, n.Active = app.ID, e.ID, f.Active
		l, err := servingList(ctx, tx, app, f.List)
		if err != nil {
			return made, err
		}
		n.List = l.ID
		return createNotification(ctx, tx, by, at, e, n, l.Name)
	})
}

// createNotification stores a new notification of an event, with a list by its name;
// subscriptions.ErrNameTaken.
func createNotification(
	ctx context.Context, tx ports.Tx, by audit.Actor, at Path, e events.Event, n subscriptions.Notification, list string,
) (subscriptions.Notification, error) {
	made, err := tx.Subscriptions().Create(ctx, n)
	if err != nil {
		return made, fieldOf("name", subscriptions.ErrNameTaken, err)
	}
	return made, record(ctx, tx, by, e.Organization, audit.NotificationCreated, at.Object("e", e.Slug, "n", made.Name), nil, notificationState(made, list))
}

// PatchNotification calls change with a form of the stored notification, and saves the changed
// form; faults about the form, events.ErrNotFound, subscriptions.ErrNotificationNotFound,
// subscriptions.ErrNameTaken, ErrOutdated.
func (s *Events) PatchNotification(
	ctx context.Context, by audit.Actor, at Path, event string, id subscriptions.NotificationID, change func(*NotificationForm),
) (subscriptions.Notification, error) {
	return updateAt(ctx, s.store, at, s.revise, func(tx ports.Tx, app applications.Application) (is subscriptions.Notification, err error) {
		_, e, was, err := notificationOf(ctx, tx, at, event, id)
		if err != nil {
			return is, err
		}
		f := NewNotificationForm(was)
		change(&f)
		checked, err := subscriptions.NewNotification(f.Name)
		if err != nil {
			return is, err
		}
		had, err := listOf(ctx, tx, app, was.List)
		if err != nil {
			return is, err
		}
		has, err := servingList(ctx, tx, app, f.List)
		if err != nil {
			return is, err
		}
		is = was
		is.Name, is.List, is.Active = checked.Name, has.ID, f.Active
		if is == was {
			return is, nil
		}
		if f.Outdated {
			return is, ErrOutdated
		}
		return is, saveNotification(ctx, tx, by, at, e, was, is, had.Name, has.Name)
	})
}

// saveNotification changes a notification and the name of its list; subscriptions.ErrNameTaken.
func saveNotification(
	ctx context.Context, tx ports.Tx, by audit.Actor, at Path, e events.Event, was, is subscriptions.Notification, had, has string,
) error {
	if err := tx.Subscriptions().Save(ctx, is); err != nil {
		return fieldOf("name", subscriptions.ErrNameTaken, err)
	}
	before, after := audit.Changed(notificationState(was, had), notificationState(is, has))
	return record(ctx, tx, by, e.Organization, audit.NotificationUpdated, at.Object("e", e.Slug, "n", was.Name), before, after)
}

// DeleteNotification removes an unused notification, with its templates; events.ErrNotFound,
// subscriptions.ErrNotificationNotFound, subscriptions.ErrInUse naming its uses.
func (s *Events) DeleteNotification(ctx context.Context, by audit.Actor, at Path, event string, id subscriptions.NotificationID) error {
	return changeAt(ctx, s.store, at, s.revise, func(tx ports.Tx, app applications.Application) error {
		_, _, n, err := notificationOf(ctx, tx, at, event, id)
		if err != nil {
			return err
		}
		had, err := listOf(ctx, tx, app, n.List)
		if err != nil {
			return err
		}
		if err := tx.Subscriptions().Delete(ctx, n); err != nil {
			return err
		}
		return record(ctx, tx, by, app.Organization, audit.NotificationDeleted, at.Object("e", event, "n", n.Name), notificationState(n, had.Name), nil)
	})
}

// notificationOf finds a notification of an event of the path's application.
func notificationOf(ctx context.Context, tx ports.Tx, at Path, event string, id subscriptions.NotificationID) (
	app applications.Application, e events.Event, n subscriptions.Notification, err error,
) {
	if app, err = application(ctx, tx, at); err != nil {
		return app, e, n, err
	}
	if e, err = tx.Events().BySlug(ctx, app, event); err != nil {
		return app, e, n, err
	}
	n, err = tx.Subscriptions().Notification(ctx, app, id)
	if err == nil && n.Event != e.ID {
		err = subscriptions.ErrNotificationNotFound
	}
	return app, e, n, err
}

// listOf finds a list of the application's project; id 0 is no list, without a name.
func listOf(ctx context.Context, tx ports.Tx, app applications.Application, id lists.ID) (lists.List, error) {
	if id == 0 {
		return lists.List{}, nil
	}
	return tx.Lists().ByID(ctx, app.Organization, app.Project, id)
}

// servingList finds the list that an application's notification is to use; a fault about
// `distribution_list`.
func servingList(ctx context.Context, tx ports.Tx, app applications.Application, id lists.ID) (lists.List, error) {
	l, err := listOf(ctx, tx, app, id)
	switch {
	case errors.Is(err, lists.ErrNotFound):
		return l, lists.ErrUnknown.With("%s", err.Error()).On("distribution_list")
	case err == nil && !l.Serves(app.ID):
		return l, lists.ErrPinned.On("distribution_list")
	}
	return l, err
}

// usableLists returns those of the first lists of its project that an application may use, and
// always the one that is used already. more reports whether the project has more lists.
func usableLists(ctx context.Context, tx ports.Tx, app applications.Application, used lists.ID) (found []lists.List, more bool, err error) {
	all, err := tx.Lists().List(ctx, app.Organization, app.Project, 0, maxUsable+1)
	if err != nil {
		return nil, false, err
	}
	more = len(all) > maxUsable
	found = slices.DeleteFunc(all[:min(len(all), maxUsable)], func(l lists.List) bool { return !l.Serves(app.ID) })
	if used == 0 || slices.ContainsFunc(found, func(l lists.List) bool { return l.ID == used }) {
		return found, more, nil
	}
	l, err := listOf(ctx, tx, app, used)
	return append(found, l), more, err
}

// fieldOf assigns a refusal to a field of the form.
func fieldOf(field string, refusal *fault.Error, err error) error {
	if known, ok := errors.AsType[*fault.Error](err); ok && errors.Is(err, refusal) {
		return known.On(field)
	}
	return err
}
