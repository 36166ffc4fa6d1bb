package events

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/templates"
)

// Limits of partials.
const (
	MaxPartials    = 100      // of an organization
	MaxPartialBody = 64 << 10 // bytes of its text, and of its HTML
)

// Errors of partials.
var (
	ErrPartialNotFound        = fault.New(fault.NotFound, "the partial does not exist")
	ErrPartialVersionNotFound = fault.New(fault.NotFound, "this version of the partial does not exist, or is no longer kept")
	ErrPartialNameTaken       = fault.New(fault.Invalid, "the organization has a partial of this name")
	ErrPartialInUse           = fault.New(fault.Invalid, "the partial is in use")
	ErrPartialBreaks          = fault.New(fault.Invalid, "templates that use the partial could not be rendered any more")
	ErrTooManyPartials        = fault.New(fault.Invalid, "an organization has at most 100 partials")
)

// PartialID identifies a partial.
type PartialID int64

// Partial is a piece of templates that an organization keeps once: its templates include it by its
// name, or are put into its blocks.
type Partial struct {
	ID           PartialID
	Organization orgs.ID
	Name         string // a slug; never changes
	Description  string
	Text         string
	HTML         string
	Version      int // counts the saves
}

// NewPartial checks the form of a partial; a body that cannot be parsed is refused with line and
// reason.
func NewPartial(name, description, text, html string) (p Partial, err error) {
	var faults fault.Fields
	p.Name, err = names.Slug("name", name)
	faults.Add("", err)
	p.Description, err = names.OptionalLabel("description", description)
	faults.Add("", err)
	p.Text, p.HTML = text, html
	bodies := true
	for field, body := range map[string]string{"text": text, "html": html} {
		if err := checkText(body, len(body)); err != nil {
			faults.Add(field, err)
			bodies = false
		}
		if len(body) > MaxPartialBody {
			faults.Addf(field, "is longer than %d KiB", MaxPartialBody>>10)
			bodies = false
		}
	}
	if text == "" && html == "" {
		faults.Addf("text", "a partial needs a text, HTML or both")
	}
	if bodies {
		_, err = templates.Uses(p.source())
		faults.Add("", err)
	}
	return p, faults.Err()
}

func (p Partial) source() templates.Source { return templates.Source{Text: p.Text, HTML: p.HTML} }

// SameContent reports whether both have the same description and bodies.
func (p Partial) SameContent(other Partial) bool {
	return p.Description == other.Description && p.source() == other.source()
}

// Uses returns the names of the partials that the partial includes itself.
func (p Partial) Uses() ([]string, error) { return templates.Uses(p.source()) }

// Uses returns the names of the partials that the template includes itself.
func (t Template) Uses() ([]string, error) { return templates.Uses(t.Source()) }

// Partials are the partials of one organization, or some of them.
type Partials []Partial

// Bodies are what templates include, by name.
func (all Partials) Bodies() templates.Partials {
	if len(all) == 0 {
		return nil
	}
	bodies := make(templates.Partials, len(all))
	for _, p := range all {
		bodies[p.Name] = templates.Partial{Text: p.Text, HTML: p.HTML}
	}
	return bodies
}

// Named is the partial of this name; ErrPartialNotFound.
func (all Partials) Named(name string) (Partial, error) {
	if i := slices.IndexFunc(all, func(p Partial) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Partial{}, ErrPartialNotFound
}

// With returns the partials with this one in place of that of the same name.
func (all Partials) With(p Partial) Partials {
	others := slices.DeleteFunc(slices.Clone(all), func(o Partial) bool { return o.Name == p.Name })
	return append(others, p)
}

// Versions names the versions of the partials; empty: there are no partials.
func (all Partials) Versions() string {
	if len(all) == 0 {
		return ""
	}
	var said []byte
	for _, p := range all {
		said = strconv.AppendInt(append(said, ' '), int64(p.ID), 10)
		said = strconv.AppendInt(append(said, '.'), int64(p.Version), 10)
	}
	return string(said)
}

// ListedPartial is a partial without its bodies.
type ListedPartial struct {
	Name        string
	Description string
	Text        bool // it has one
	HTML        bool
	Version     int
}

// PartialVersion is a partial as it was saved.
type PartialVersion struct {
	Partial

	By    string
	Saved time.Time
}

// PartialUser is a template that uses a partial, itself or through others, with what it belongs to.
type PartialUser struct {
	Template     Template
	Event        Event
	Project      string // slug
	Application  string // slug
	Notification int64  // 0: the template is the event's own
	Name         string // of the notification
	Channel      string // name
	Protocol     channels.Protocol
}

// String names the template.
func (u PartialUser) String() string {
	said := "event " + u.Application + "/" + u.Event.Slug
	if u.Notification != 0 {
		said += ", notification " + u.Name
	}
	return said + ", channel " + u.Channel
}

// PartialRepository keeps partials.
type PartialRepository interface {
	// Partials returns all partials of an organization by name.
	Partials(ctx context.Context, org orgs.ID) (Partials, error)
	// PartialList is Partials without bodies.
	PartialList(ctx context.Context, org orgs.ID) ([]ListedPartial, error)
	// Partial returns the partial of this name; ErrPartialNotFound.
	Partial(ctx context.Context, org orgs.ID, name string) (Partial, error)
	// PartialsUsed returns the partials of these names and those that they use, themselves or
	// through others, by name.
	PartialsUsed(ctx context.Context, org orgs.ID, names []string) (Partials, error)
	// CreatePartial stores a new partial and returns it with its id; ErrPartialNameTaken.
	CreatePartial(ctx context.Context, p Partial, by string) (Partial, error)
	// SavePartial stores description and bodies as a new version and returns the partial with its
	// number; ErrPartialNotFound. The latest MaxVersions versions are kept.
	SavePartial(ctx context.Context, p Partial, by string) (Partial, error)
	// DeletePartial removes a partial with its versions; ErrPartialNotFound, and ErrPartialInUse
	// naming what uses it.
	DeletePartial(ctx context.Context, p Partial) error
	// PartialsIncluding returns the names of the partials that include a partial themselves, in
	// alphabetical order.
	PartialsIncluding(ctx context.Context, p Partial) ([]string, error)
	// PartialUsers returns the templates that use a partial, themselves or through others, by id,
	// at most limit after the given one; without bodies and schemas.
	PartialUsers(ctx context.Context, p Partial, after TemplateID, limit int) ([]PartialUser, error)
	// PartialTemplates is PartialUsers of several partials of an organization, with bodies and
	// schemas. A template that uses more than one of them comes once.
	PartialTemplates(ctx context.Context, org orgs.ID, of []PartialID, after TemplateID, limit int) ([]PartialUser, error)
	// PartialVersions returns the versions of a partial, the newest first, without their bodies.
	PartialVersions(ctx context.Context, p Partial) ([]PartialVersion, error)
	// PartialVersion returns one of them; ErrPartialVersionNotFound.
	PartialVersion(ctx context.Context, p Partial, number int) (PartialVersion, error)
}
