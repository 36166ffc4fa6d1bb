// Package events is about what applications announce: events, the channels each may use, and the
// templates of the messages. It knows how they are named and stored; rendering and sending are
// others' work.
package events

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Limits, in characters.
const (
	MaxDescription = 2_000
	MaxSubject     = 1_000
	MaxBody        = 256 << 10
	MaxExample     = 64 << 10 // bytes
)

// Errors of this package.
var (
	ErrNotFound  = fault.New(fault.NotFound, "the event does not exist")
	ErrSlugTaken = fault.New(fault.Invalid, "this slug is taken")
	ErrInUse     = fault.New(fault.Invalid, "the event is in use")
)

type (
	// ID identifies an event. Identifiers are positive; 0 means "not stored yet".
	ID int64
	// TemplateID identifies a template of an event.
	TemplateID int64
)

// Event is something an application announces; its slug is unique in the application. Without
// channels and pools it may use every active channel of its project and organization.
type Event struct {
	ID           ID
	Organization orgs.ID
	Application  applications.ID
	Slug         string
	Name         string
	Description  string
	Active       bool
	Example      string    // of a context, for authors of templates: JSON text; empty: none
	Schema       string    // of contexts: the text of a JSON Schema; empty: none
	Priority     Priority  // of its occurrences, unless their triggers set another one
	Channels     []Channel // in the order of Compare
	Pools        []Pool    // by name
}

// Channel is a channel that an event is limited to.
type Channel struct {
	ID   channels.ID
	Name string
}

// Compare orders channels by name, and by id: a channel of the organization and one of the project
// may have one name.
func (c Channel) Compare(other Channel) int {
	return cmp.Or(cmp.Compare(c.Name, other.Name), cmp.Compare(c.ID, other.ID))
}

// New checks an operator's input for an event.
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

// ParseExample checks the example of a context: the text of a JSON object, or nothing.
func ParseExample(field, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	if len(text) > MaxExample {
		return "", fault.Field(field, "is longer than %d KiB", MaxExample>>10)
	}
	if err := checkText(text, MaxExample); err != nil {
		return "", fault.Field(field, "%s", err.Error())
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return "", fault.Field(field, "must be a JSON object such as {\"name\": \"Ada\"}")
	}
	return text, nil
}

// Name is the name of an event.
type Name struct {
	ID   ID
	Name string
}

// Repository keeps events and their templates, and the partials of those.
type Repository interface {
	PartialRepository

	// BySlug finds an event of the application; ErrNotFound.
	BySlug(ctx context.Context, a applications.Application, slug string) (Event, error)
	// ByPath finds an event and its application by their slugs, without the channels and pools that
	// the event is limited to; the not-found error of the first level that does not exist.
	ByPath(ctx context.Context, path access.Scope, slug string) (applications.Application, Event, error)
	// List returns the application's events by id, at most limit after the given one.
	List(ctx context.Context, a applications.Application, after ID, limit int) ([]Event, error)
	// Names returns the names of the application's first events, at most limit.
	Names(ctx context.Context, a applications.Application, limit int) ([]Name, error)
	// NamesOf returns the names of these events, if they belong to the application.
	NamesOf(ctx context.Context, a applications.Application, ids []ID) ([]Name, error)
	// OfOrganization returns events of the organization without their channels, examples and
	// schemas, at most limit.
	OfOrganization(ctx context.Context, org orgs.ID, limit int) ([]Event, error)
	// Create stores a new event with its channels and pools and returns it with its id;
	// ErrSlugTaken.
	Create(ctx context.Context, e Event) (Event, error)
	// Save stores name, description, active flag, example, schema, priority, channels and pools.
	Save(ctx context.Context, e Event) error
	// Delete removes an event and its templates; ErrInUse, naming its notifications, or when
	// very many occurrences of it are kept.
	Delete(ctx context.Context, e Event) error
	// Templates returns the event's own templates.
	Templates(ctx context.Context, e Event) ([]Template, error)
	// SaveTemplate stores the event's template for one channel, and replaces the earlier one, and
	// returns it with its id and the number of the version that it is. The latest MaxVersions
	// versions are kept, each with who saved it.
	SaveTemplate(ctx context.Context, e Event, t Template, by string) (Template, error)
	// DeleteTemplate removes the event's template for a channel with its versions;
	// ErrTemplateNotFound.
	DeleteTemplate(ctx context.Context, e Event, c channels.ID) error
	// Versions returns the versions of a template of the application's events and notifications,
	// the newest first, without their texts.
	Versions(ctx context.Context, a applications.Application, id TemplateID) ([]Version, error)
	// Version returns one of them with its texts; ErrVersionNotFound.
	Version(ctx context.Context, a applications.Application, id TemplateID, number int) (Version, error)
}
