// Package events is about what applications announce: events, the channels each may use, and the templates of the messages. It
// knows how they are named and stored; rendering and sending are others' work.
package events

import (
	"context"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/templates"
)

// Limits, in characters.
const (
	MaxDescription = 2_000
	MaxSubject     = 1_000
	MaxBody        = 256 << 10
)

// The faults of this package.
var (
	ErrNotFound  = fault.New(fault.NotFound, "the event does not exist")
	ErrSlugTaken = fault.New(fault.Invalid, "this slug is taken")
	ErrInUse     = fault.New(fault.Invalid, "the event is in use")
)

// Identifiers. They are positive; 0 means "not stored yet".
type (
	ID         int64
	TemplateID int64
)

// Event is something an application announces; its slug is unique in the application. Without channels it may use
// every active channel of its project and organization.
type Event struct {
	ID           ID
	Organization orgs.ID
	Application  applications.ID
	Slug         string
	Name         string
	Description  string
	Active       bool
	Channels     []Channel // by name
}

// Channel is a channel that an event is limited to.
type Channel struct {
	ID   channels.ID
	Name string
}

// New checks what an operator says of an event.
func New(slug, name, description string) (Event, error) {
	var faults fault.Fields
	e := Event{Active: true, Description: description}
	var err error
	e.Slug, err = names.Slug("slug", slug)
	faults.Add("slug", err)
	e.Name, err = names.Label("name", name)
	faults.Add("name", err)
	faults.Add("description", checkText(description, MaxDescription))
	return e, faults.Err()
}

// Template is the text of a message on one channel. It belongs to an event or to one of its notifications.
type Template struct {
	ID      TemplateID
	Channel channels.ID
	Subject string
	Text    string
	HTML    string
}

// NewTemplate checks what an operator says of a template; a part that cannot be read is refused with line and reason.
func NewTemplate(channel channels.ID, subject, text, html string) (Template, error) {
	var faults fault.Fields
	faults.Add("subject", checkText(subject, MaxSubject))
	faults.Add("text", checkText(text, MaxBody))
	faults.Add("html", checkText(html, MaxBody))
	if len(faults) == 0 {
		_, err := templates.Parse(subject, text, html)
		faults.Add("", err)
	}
	return Template{Channel: channel, Subject: subject, Text: text, HTML: html}, faults.Err()
}

func checkText(s string, limit int) error {
	switch {
	case !utf8.ValidString(s):
		return fault.New(fault.Invalid, "is not valid UTF-8")
	case utf8.RuneCountInString(s) > limit:
		return fault.New(fault.Invalid, "is too long")
	}
	for _, r := range s {
		if r == 0 {
			return fault.New(fault.Invalid, "contains a NUL character")
		}
	}
	return nil
}

// Repository keeps events and their templates.
type Repository interface {
	// BySlug finds an event of the application; ErrNotFound.
	BySlug(ctx context.Context, a applications.Application, slug string) (Event, error)
	// List returns the application's events by id, at most limit after the given one.
	List(ctx context.Context, a applications.Application, after ID, limit int) ([]Event, error)
	// Create stores a new event with its channels and returns it with its id; ErrSlugTaken.
	Create(ctx context.Context, e Event) (Event, error)
	// Save stores name, description, active flag and channels.
	Save(ctx context.Context, e Event) error
	// Delete removes an event and its templates; ErrInUse, naming its notifications.
	Delete(ctx context.Context, e Event) error
	// Templates returns the event's own templates.
	Templates(ctx context.Context, e Event) ([]Template, error)
	// SaveTemplate stores the event's template for one channel, in place of the one there was, and returns it with its id.
	SaveTemplate(ctx context.Context, e Event, t Template) (Template, error)
}
