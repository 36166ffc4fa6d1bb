package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/ports"
)

// SentMessages shows messages as they were sent. Sent texts are not stored: each message is
// rendered again.
type SentMessages struct {
	store    ports.Store
	composer delivery.Composer
	clock    ports.Clock
}

// NewSentMessages returns the use case of showing a message.
func NewSentMessages(store ports.Store, composer delivery.Composer, clock ports.Clock) *SentMessages {
	return &SentMessages{store: store, composer: composer, clock: clock}
}

// SentMessage is a delivery with its message.
type SentMessage struct {
	Occurrence events.Occurrence
	Delivery   deliveries.Delivery
	Message    deliveries.Message
	// Missing is why there is no message; empty: there is one.
	Missing string
	// Template is the version with which the message was rendered, and Latest the number of the
	// newest one.
	Template events.Version
	Latest   int
	// Partials are those that it uses, in the versions with which the message was rendered.
	Partials PastPartials
	// Guessed reports that the template's version of that time was deleted, and that this is the
	// oldest one left.
	Guessed bool
}

// Show returns a delivery of an occurrence of the application with its message: of a finished one,
// with the template and its partials of that time, else with those with which it would be sent now.
// The recipient's data are the present ones. events.ErrOccurrenceNotFound, deliveries.ErrNotFound.
func (s *SentMessages) Show(ctx context.Context, at Path, of events.OccurrenceID, id deliveries.ID) (m SentMessage, err error) {
	var in deliveries.RenderInput
	var job deliveries.Job
	err = s.store.View(ctx, func(tx ports.Tx) error {
		m = SentMessage{}
		var a applications.Application
		if a, m.Occurrence, err = occurrence(ctx, tx, at, of); err != nil {
			return err
		}
		if m.Delivery, err = tx.Deliveries().Delivery(ctx, m.Occurrence, id); err != nil {
			return err
		}
		if err := setWaiting(ctx, tx, a.Organization, s.clock.Now(), []*deliveries.Delivery{&m.Delivery}); err != nil {
			return err
		}
		if job, err = tx.Deliveries().Job(ctx, m.Occurrence, id); err != nil {
			return err
		}
		in, err = tx.Deliveries().RenderInput(ctx, m.Occurrence, job.Notification, job.Template)
		if errors.Is(err, deliveries.ErrNotFound) {
			m.Missing = "the notification, the channel or the template is gone"
			return nil
		}
		if err != nil {
			return err
		}
		return m.findTemplate(ctx, tx, a, &in)
	})
	if err != nil || m.Missing != "" {
		return m, err
	}
	if m.Message, err = delivery.Compose(s.composer, in, job); err != nil {
		m.Missing = "the template cannot be rendered: " + err.Error()
	}
	return m, nil
}

// findTemplate finds the versions of the template and its partials that were current when the
// delivery was finished, and sets the input to them. Before that they are the latest ones.
func (m *SentMessage) findTemplate(ctx context.Context, tx ports.Tx, a applications.Application, in *deliveries.RenderInput) error {
	m.Template, m.Latest = events.Version{Template: in.Template}, in.Template.Version
	m.Partials = PastPartials{All: in.Partials}
	if m.Delivery.Finished.IsZero() {
		return nil
	}
	versions, err := tx.Events().Versions(ctx, a, in.Template.ID)
	if err != nil || len(versions) == 0 {
		return err
	}
	then := versions[len(versions)-1]
	m.Guessed = true
	for _, v := range versions { // the newest first
		if !v.Saved.After(m.Delivery.Finished) {
			then, m.Guessed = v, false
			break
		}
	}
	if m.Template, err = tx.Events().Version(ctx, a, in.Template.ID, then.Version); err != nil {
		return err
	}
	in.Template.Version, in.Template.Subject = then.Version, m.Template.Subject
	in.Template.Text, in.Template.HTML, in.Template.Markdown = m.Template.Text, m.Template.HTML, m.Template.Markdown
	m.Partials, err = partialsAt(ctx, tx, a.Organization, in.Template, m.Delivery.Finished)
	in.Partials = m.Partials.All
	return err
}
