package app

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// PreviewOptions are the recipient and the data for which a draft is rendered.
type PreviewOptions struct {
	User    string // username or e-mail of a member; empty: an invented recipient
	Example string // of a context: a JSON object; empty: an empty one
}

// Preview is a draft as a recipient would get it.
type Preview struct {
	Message          deliveries.Message // without an unsubscribe link: only a sent message has one
	Username         string             // of the member; empty: invented
	SampleAddress    bool               // the address is invented: the member has none that the channel reaches
	MissingVariables []string           // the variables without a value, each with its place
}

// Preview renders a draft like delivery does: by the same composer, with the same variables. Faults
// about `subject`, `text`, `html`, `markdown`, `user` and `example`, *quotas.Exceeded, and the
// errors of Show. A preview counts as a dry run.
func (s *Templates) Preview(ctx context.Context, at Path, of TemplateName, d Draft, with PreviewOptions) (Preview, error) {
	return s.preview(ctx, d, with, func(tx ports.Tx) (TemplateReport, error) { return templateOf(ctx, tx, at, of) })
}

// preview renders a draft for what find returns.
func (s *Templates) preview(ctx context.Context, d Draft, with PreviewOptions, find func(ports.Tx) (TemplateReport, error)) (Preview, error) {
	var r TemplateReport
	var p previewRecipient
	done := func(context.Context) {}
	defer func() { done(ctx) }() // after the View: a pause holds no connection
	if err := s.store.View(ctx, func(tx ports.Tx) (err error) {
		if r, err = find(tx); err != nil {
			return err
		}
		end, err := s.quotas.dryRun(ctx, tx, r.Organization.ID)
		if err != nil {
			return err
		}
		done = end
		if r.Partials, err = d.partials(ctx, tx, r); err != nil {
			return err
		}
		p, err = findPreviewRecipient(ctx, tx, r.Channel, with.User)
		return err
	}); err != nil {
		return Preview{}, err
	}
	m, blanks, err := s.renderDraft(r, d, with.Example, p)
	return Preview{Message: m, Username: p.username, SampleAddress: p.sample, MissingVariables: blanks}, err
}

// partials returns those of the organization, if the draft can be parsed and uses any.
func (d Draft) partials(ctx context.Context, tx ports.Tx, r TemplateReport) (events.Partials, error) {
	text, err := d.template(r.Channel.ID)
	if err != nil {
		return nil, nil //nolint:nilerr // Rendering the draft reports the error.
	}
	return partialsFor(ctx, tx, r.Organization.ID, text)
}

// renderDraft renders a draft for a recipient, and returns the variables without a value.
func (s *Templates) renderDraft(r TemplateReport, d Draft, example string, p previewRecipient) (m deliveries.Message, blanks []string, err error) {
	var faults fault.Fields
	text, err := d.template(r.Channel.ID)
	faults.Add("", err)
	faults.Add("", text.CheckChannel(r.Channel.Protocol))
	example, err = events.ParseExample("example", example)
	faults.Add("", err)
	if err := faults.Err(); err != nil {
		return m, nil, err
	}
	in := deliveries.RenderInput{
		Organization: r.Organization, Project: r.Project, Application: r.Application, Event: r.Event, Notification: r.Notification, Channel: r.Channel, Template: text, Partials: r.Partials,
		Occurrence: events.Occurrence{Organization: r.Organization.ID, Project: r.Project.ID, Application: r.Application.ID, Event: r.Event.ID,
			Context: events.Context(example), Created: s.clock.Now()},
	}
	job := deliveries.Job{Event: r.Event.ID, Notification: r.Notification.ID, Address: p.address, Recipient: p.recipient}
	if m, err = delivery.Compose(s.composer, in, job); err != nil {
		return m, nil, partError(err)
	}
	m.Unsubscribe = ""
	return m, s.composer.MissingVariables(in, job), nil
}

// PreviewPartial renders the draft of a partial alone, with the partials that it includes: for an
// e-mail about a sample event, with the default content of its blocks. The faults are those of
// Preview about `text`, `html`, `user` and `example`; *quotas.Exceeded, orgs.ErrNotFound.
func (s *Templates) PreviewPartial(ctx context.Context, organization string, d Draft, with PreviewOptions) (Preview, error) {
	return s.preview(ctx, d, with, func(tx ports.Tx) (r TemplateReport, err error) {
		r = sampleReport()
		r.Organization, err = tx.Orgs().BySlug(ctx, organization)
		r.Channel.Organization = r.Organization.ID
		return r, err
	})
}

// sampleReport is where a partial is shown that belongs to no event.
func sampleReport() TemplateReport {
	const slug, name = "example", "Example"
	return TemplateReport{Project: orgs.Project{Slug: slug, Name: name}, Application: applications.Application{Slug: slug, Name: name},
		Event: events.Event{Slug: slug, Name: name}, Channel: channels.Channel{Name: slug, Protocol: channels.EMAIL}}
}

// partError assigns an error to the part of the template that cannot be rendered.
func partError(err error) error {
	for _, known := range []error{templates.ErrTooLarge, templates.ErrTooMuch, templates.ErrTooLong, templates.ErrNotPlain} {
		if errors.Is(err, known) {
			part, rest, _ := strings.Cut(err.Error(), ", ")
			return fault.Field(part, "%s", rest)
		}
	}
	return err
}

// previewRecipient is the recipient for whom a draft is rendered.
type previewRecipient struct {
	recipient deliveries.Recipient
	username  string
	address   string
	sample    bool // the address
}

// sampleAddresses are invented addresses for recipients who have none that a channel reaches.
var sampleAddresses = map[users.AddressType]string{
	users.Email: "ada@example.org", users.Phone: "+15005550006", users.URL: "https://example.org/in", users.Generic: "C0123456789",
}

// sampleRecipient is the recipient when no member is chosen.
var sampleRecipient = deliveries.Recipient{Username: "ada@example.org",
	Details: users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "Example"}}

// maxRecipientRows is how many addresses and assignments of a member are read.
const maxRecipientRows = 200

// findPreviewRecipient finds a member with the address that the channel would reach: one that is
// assigned to it, else one of the right type.
func findPreviewRecipient(ctx context.Context, tx ports.Tx, c channels.Channel, user string) (previewRecipient, error) {
	sample := sampleAddresses[c.Protocol.Type()]
	if strings.TrimSpace(user) == "" {
		return previewRecipient{recipient: sampleRecipient, address: sample, sample: true}, nil
	}
	m, err := memberOf(ctx, tx, c.Organization, strings.TrimSpace(user))
	if errors.Is(err, users.ErrNotFound) {
		return previewRecipient{}, fault.Field("user", "is not a member of the organization")
	}
	if errors.Is(err, users.ErrAmbiguous) {
		return previewRecipient{}, fault.Field("user", "%s", err.Error())
	}
	if err != nil {
		return previewRecipient{}, err
	}
	fields, err := m.CustomFields.Encode()
	if err != nil {
		return previewRecipient{}, err
	}
	p := previewRecipient{username: m.User.Username, recipient: deliveries.Recipient{Member: int64(m.ID), Username: m.User.Username,
		Details: m.Details, Fields: fields}}
	assigned, err := tx.Assignments().OfMember(ctx, c.Organization, m.ID, maxRecipientRows)
	if err != nil {
		return p, err
	}
	if i := slices.IndexFunc(assigned, func(a channels.Assignment) bool { return a.Channel == c.ID && a.Active && a.Validated }); i >= 0 {
		p.address = assigned[i].Value
		return p, nil
	}
	held, err := tx.Addresses().List(ctx, c.Organization, m.ID, 0, maxRecipientRows)
	if err != nil {
		return p, err
	}
	if i := slices.IndexFunc(held, func(a users.Address) bool { return c.Protocol.Accepts(a.Type) }); i >= 0 {
		p.address = held[i].Value
		return p, nil
	}
	p.address, p.sample = sample, true
	return p, nil
}

// Test sends a draft through its channel, active or not, once, marked as a test: to an address or,
// if that is empty, to the chosen member's. A failure of the channel is a result and no error. The
// faults of Preview, one about `to`, the driver's faults in the settings, and *quotas.Exceeded.
func (s *Templates) Test(ctx context.Context, by audit.Actor, at Path, of TemplateName, d Draft, with PreviewOptions, to string) (TestResult, error) {
	var r TemplateReport
	var p previewRecipient
	var c channels.Channel
	if err := s.store.View(ctx, func(tx ports.Tx) (err error) {
		if r, err = templateOf(ctx, tx, at, of); err != nil {
			return err
		}
		if c, err = tx.Channels().ByID(ctx, r.Channel.Organization, r.Channel.Project, of.Channel); err != nil {
			return err
		}
		if r.Partials, err = d.partials(ctx, tx, r); err != nil {
			return err
		}
		p, err = findPreviewRecipient(ctx, tx, r.Channel, with.User)
		return err
	}); err != nil {
		return TestResult{}, err
	}
	switch {
	case strings.TrimSpace(to) != "":
		address, err := testAddress(c, to)
		if err != nil {
			return TestResult{}, err
		}
		p.address = address
	case p.sample:
		return TestResult{}, fault.Field("to", "is required unless a user is chosen who has an address of the type %s", c.Protocol.Type())
	}
	end, err := s.quotas.channelTest(ctx, s.store, r.Organization.ID)
	if err != nil {
		return TestResult{}, err
	}
	defer end()
	m, _, err := s.renderDraft(r, d, with.Example, p)
	if err != nil {
		return TestResult{}, err
	}
	done, err := dispatchTest(ctx, s.drivers, s.timeout, c, markTest(m, c.Protocol))
	if err != nil {
		return done, err
	}
	return done, s.store.Update(ctx, func(tx ports.Tx) error {
		return record(ctx, tx, by, r.Organization.ID, audit.TemplateTested, r.object(at), nil, testState(done))
	})
}

// markTest marks a message in what its protocol shows, so that its reader sees that it is a test.
func markTest(m deliveries.Message, p channels.Protocol) deliveries.Message {
	const mark = "[Test]"
	m.ID = "test-" + strings.ToLower(rand.Text())
	inText := m.Subject == "" || !p.HasSubject() && strings.TrimSpace(m.Text) != ""
	switch {
	case m.Subject != "":
		m.Subject = mark + " " + m.Subject
	case m.HTML != "" && p.HasHTML(): // It is shown in the place of the text.
		m.Subject, inText = mark, false
	}
	if inText {
		m.Text = mark + " " + m.Text
	}
	m.Facts["test"] = "true"
	return m
}
