package app

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/ports"
)

// Templates is the use cases on templates, their versions, previews and test messages.
type Templates struct {
	store    ports.Store
	drivers  delivery.Drivers
	composer delivery.Composer
	clock    ports.Clock
	quotas   *Quotas
	timeout  time.Duration
}

// NewTemplates returns the use cases on templates; a test takes at most timeout.
func NewTemplates(store ports.Store, drivers delivery.Drivers, composer delivery.Composer, clock ports.Clock, quotas *Quotas, timeout time.Duration) *Templates {
	return &Templates{store: store, drivers: drivers, composer: composer, clock: clock, quotas: quotas, timeout: timeout}
}

// AnyVersion stands for any current version, or none, as the base of a change.
const AnyVersion = math.MinInt

// TemplateName names a template, which need not exist yet.
type TemplateName struct {
	Event        string                       // slug
	Notification subscriptions.NotificationID // its notification; 0: it is the event's
	Channel      channels.ID
}

// TemplateReport is a template with all that it belongs to.
type TemplateReport struct {
	Parts EventParts // of the event, if a page shows the template; else its templates alone

	Organization orgs.Organization
	Project      orgs.Project
	Application  applications.Application
	Event        events.Event
	Notification subscriptions.Notification // none for a template of the event
	Channel      channels.Channel           // without settings
	Template     events.Template            // Version 0: none yet
	Partials     events.Partials            // of the organization, if a rendered draft uses any
	Inherited    events.Template            // of the event; the notification uses it until it has its own; Version 0: none
}

// Show returns a template; events.ErrNotFound, subscriptions.ErrNotificationNotFound,
// channels.ErrNotFound.
func (s *Templates) Show(ctx context.Context, at Path, of TemplateName) (TemplateReport, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (TemplateReport, error) {
		return shownTemplate(ctx, tx, at, of)
	})
}

// shownTemplate is templateOf with the parts of the event.
func shownTemplate(ctx context.Context, tx ports.Tx, at Path, of TemplateName) (TemplateReport, error) {
	r, err := templateOf(ctx, tx, at, of)
	if err == nil {
		r.Parts, err = eventParts(ctx, tx, r.Application, r.Event, r.Parts.Templates)
	}
	return r, err
}

// templateOf finds a template and all that it belongs to.
func templateOf(ctx context.Context, tx ports.Tx, at Path, of TemplateName) (r TemplateReport, err error) {
	if r.Organization, err = tx.Orgs().BySlug(ctx, at.Organization); err != nil {
		return r, err
	}
	if r.Project, err = tx.Orgs().Project(ctx, at.Organization, at.Project); err != nil {
		return r, err
	}
	if of.Notification != 0 {
		r.Application, r.Event, r.Notification, err = notificationOf(ctx, tx, at, of.Event, of.Notification)
	} else if r.Application, err = application(ctx, tx, at); err == nil {
		r.Event, err = tx.Events().BySlug(ctx, r.Application, of.Event)
	}
	if err != nil {
		return r, err
	}
	if r.Channel, err = usableChannel(ctx, tx, r.Project, of.Channel); err != nil {
		return r, err
	}
	own, err := tx.Events().Templates(ctx, r.Event)
	if err != nil {
		return r, err
	}
	r.Parts.Templates = own
	if of.Notification != 0 {
		r.Inherited = onChannel(own, of.Channel)
		if own, err = tx.Subscriptions().Templates(ctx, r.Notification); err != nil {
			return r, err
		}
	}
	r.Template = onChannel(own, of.Channel)
	return r, nil
}

func onChannel(all []events.Template, id channels.ID) events.Template {
	if i := slices.IndexFunc(all, func(t events.Template) bool { return t.Channel == id }); i >= 0 {
		return all[i]
	}
	return events.Template{Channel: id}
}

// usableChannel finds a channel of the project or of its organization, without settings.
func usableChannel(ctx context.Context, tx ports.Tx, p orgs.Project, id channels.ID) (channels.Channel, error) {
	c, err := tx.Channels().ByID(ctx, p.Organization, p.ID, id)
	if errors.Is(err, channels.ErrNotFound) {
		c, err = tx.Channels().ByID(ctx, p.Organization, 0, id)
	}
	if errors.Is(err, channels.ErrSealed) {
		err = nil
	}
	c.Settings = nil
	return c, err
}

// Draft is a template that is being edited.
type Draft struct{ Subject, Text, HTML, Markdown string }

// template checks the draft.
func (d Draft) template(c channels.ID) (events.Template, error) {
	return events.NewTemplate(c, templates.Source{Subject: d.Subject, Text: unixLines(d.Text), HTML: unixLines(d.HTML), Markdown: unixLines(d.Markdown)})
}

// unixLines returns a text with LF at the ends of its lines. Browsers send CRLF.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// Save stores a draft as a new version, if the current version is base (0: none).
// events.ErrOutdated when the current version is another one, faults about the draft and its
// variables, and the not-found errors of Show.
func (s *Templates) Save(ctx context.Context, by audit.Actor, at Path, of TemplateName, d Draft, base int) (saved events.Template, err error) {
	wanted, err := d.template(of.Channel)
	if err != nil {
		return wanted, err
	}
	return ports.Update(ctx, s.store, func(tx ports.Tx) (events.Template, error) {
		r, err := s.revise(ctx, tx, at, of, base)
		if err != nil {
			return events.Template{}, err
		}
		return s.save(ctx, tx, by, at, r, wanted, 0)
	})
}

// Restore makes an earlier version the current one again, as a new version;
// events.ErrVersionNotFound, and the errors of Save.
func (s *Templates) Restore(ctx context.Context, by audit.Actor, at Path, of TemplateName, version, base int) error {
	return s.store.Update(ctx, func(tx ports.Tx) error {
		r, err := s.revise(ctx, tx, at, of, base)
		if err != nil {
			return err
		}
		v, err := tx.Events().Version(ctx, r.Application, r.Template.ID, version)
		if err != nil {
			return err
		}
		v.Channel = of.Channel
		_, err = s.save(ctx, tx, by, at, r, v.Template, version)
		return err
	})
}

// Delete removes a template with its versions; events.ErrTemplateNotFound, and the errors of Save.
func (s *Templates) Delete(ctx context.Context, by audit.Actor, at Path, of TemplateName, base int) error {
	return s.store.Update(ctx, func(tx ports.Tx) error {
		r, err := s.revise(ctx, tx, at, of, base)
		if err != nil {
			return err
		}
		if of.Notification != 0 {
			err = tx.Subscriptions().DeleteTemplate(ctx, r.Notification, of.Channel)
		} else {
			err = tx.Events().DeleteTemplate(ctx, r.Event, of.Channel)
		}
		if err != nil {
			return err
		}
		return record(ctx, tx, by, r.Organization.ID, audit.TemplateDeleted, r.object(at), templateState(r.Template), nil)
	})
}

// Versions returns the versions of a template, the newest first, without their texts.
func (s *Templates) Versions(ctx context.Context, at Path, of TemplateName) (r TemplateReport, found []events.Version, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		if r, err = shownTemplate(ctx, tx, at, of); err != nil {
			return err
		}
		found, err = tx.Events().Versions(ctx, r.Application, r.Template.ID)
		return err
	})
	return r, found, err
}

// Version returns one version of a template; events.ErrVersionNotFound.
func (s *Templates) Version(ctx context.Context, at Path, of TemplateName, number int) (r TemplateReport, found events.Version, err error) {
	err = s.store.View(ctx, func(tx ports.Tx) error {
		if r, err = shownTemplate(ctx, tx, at, of); err != nil {
			return err
		}
		found, err = tx.Events().Version(ctx, r.Application, r.Template.ID, number)
		return err
	})
	return r, found, err
}

// revise finds a template that is about to change, if its current version is base.
func (s *Templates) revise(ctx context.Context, tx ports.Tx, at Path, of TemplateName, base int) (TemplateReport, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return TemplateReport{}, err
	}
	if err := tx.Orgs().Revise(ctx, org.ID); err != nil {
		return TemplateReport{}, err
	}
	r, err := templateOf(ctx, tx, at, of)
	if err == nil && base != AnyVersion && r.Template.Version != base {
		err = events.ErrOutdated
	}
	return r, err
}

// save stores a template, unless its content is unchanged. restored is the version from which the
// content comes; 0: none.
func (s *Templates) save(
	ctx context.Context, tx ports.Tx, by audit.Actor, at Path, r TemplateReport, wanted events.Template, restored int,
) (saved events.Template, err error) {
	was := r.Template
	if was.Version > 0 && was.SameContent(wanted) {
		return was, nil
	}
	partials, err := partialsFor(ctx, tx, r.Organization.ID, wanted)
	if err != nil {
		return was, err
	}
	if err := r.Event.CheckTemplate(wanted, r.Channel.Protocol, partials); err != nil {
		return was, err
	}
	return saveTemplate(ctx, tx, by, at, r.Event, r.Notification, r.Channel.Name, was, wanted, restored)
}

// saveTemplate stores a template for a channel of an event, or of its notification n if that is
// set; was has no version if the template is new. The entry names the version that was restored,
// unless that is 0.
func saveTemplate(
	ctx context.Context, tx ports.Tx, by audit.Actor, at Path, e events.Event, n subscriptions.Notification, channel string, was, wanted events.Template, restored int,
) (saved events.Template, err error) {
	if n.ID != 0 {
		saved, err = tx.Subscriptions().SaveTemplate(ctx, n, wanted, author(by))
	} else {
		saved, err = tx.Events().SaveTemplate(ctx, e, wanted, author(by))
	}
	if err != nil {
		return saved, fieldOf("text", events.ErrTemplatesTooLarge, err)
	}
	action, before, after := audit.TemplateCreated, audit.State(nil), templateState(saved)
	if was.Version > 0 {
		action = audit.TemplateUpdated
		before, after = audit.Changed(templateState(was), after)
	}
	restoring(after, restored)
	return saved, record(ctx, tx, by, e.Organization, action, templatePath(at, e, n, channel), before, after)
}

// object returns the name of the template in the audit log.
func (r TemplateReport) object(at Path) string {
	return templatePath(at, r.Event, r.Notification, r.Channel.Name)
}

func templatePath(at Path, e events.Event, n subscriptions.Notification, channel string) string {
	if n.ID != 0 {
		return at.Object("e", e.Slug, "n", n.Name, "t", channel)
	}
	return at.Object("e", e.Slug, "t", channel)
}
