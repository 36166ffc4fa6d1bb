package app

import (
	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/templates"
)

// Blueprint describes the structure of organizations. Names refer to other objects: a list to the
// application that it is pinned to, a notification to its list, events and templates to channels,
// which are searched in the project first, then in the organization. A name may refer to an object
// of the blueprint or to an existing one.
type Blueprint struct {
	Organizations []BlueprintOrganization
}

// BlueprintOrganization describes an organization.
type BlueprintOrganization struct {
	Slug, Name string
	Groups     []string
	Channels   []BlueprintChannel
	Partials   []BlueprintPartial
	Projects   []BlueprintProject
	Quotas     quotas.Limits // that differ from the installation's; nil: unchanged
	Region     *string       // of phone numbers without country code; nil: unchanged
	Searchable *[]string     // paths of metadata that the search covers; nil: unchanged
	Factor     *bool         // whether members with a role there need a second factor; nil: unchanged
}

// BlueprintPartial describes a partial.
type BlueprintPartial struct{ Name, Description, Text, HTML string }

// BlueprintProject describes a project.
type BlueprintProject struct {
	Slug, Name   string
	Channels     []BlueprintChannel
	Lists        []BlueprintList
	Applications []BlueprintApplication
}

// BlueprintChannel describes a channel.
type BlueprintChannel struct {
	Name, Protocol, Driver string
	Preferred, Active      bool
	Pool                   string // empty: none
	Weight                 int
	Settings               channels.Settings
}

// BlueprintList describes a distribution list. Without an application it is not pinned.
type BlueprintList struct {
	Name        string
	Application string // slug
}

// BlueprintApplication describes an application.
type BlueprintApplication struct {
	Slug, Name string
	Active     bool
	Events     []BlueprintEvent
}

// BlueprintEvent describes an event. Without channels and pools it may use every channel.
type BlueprintEvent struct {
	Slug, Name, Description string
	Active                  bool
	Schema                  map[string]any // of contexts; nil: unchanged; empty: none
	Priority                string         // empty: unchanged, normal for a new event
	Channels                []string
	Pools                   []string
	Templates               []BlueprintTemplate
	Notifications           []BlueprintNotification
}

// schema returns the text of the described schema; empty: none. It does not parse it.
func (e BlueprintEvent) schema() (string, error) {
	if len(e.Schema) == 0 { // {} allows everything.
		return "", nil
	}
	text, err := metadata.JSON(e.Schema) // as the API stores it
	return string(text), err
}

// checkSchema checks the described schema, and the example, which must fit it.
func (e BlueprintEvent) checkSchema(example string) error {
	text, err := e.schema()
	if err == nil {
		_, err = events.ParseSchema("context_schema", text, example)
	}
	return err
}

// BlueprintNotification describes a notification.
type BlueprintNotification struct {
	Name      string
	List      string
	Active    bool
	Templates []BlueprintTemplate
}

// BlueprintTemplate describes the template for one channel.
type BlueprintTemplate struct {
	Channel, Subject, Text, HTML, Markdown string
}

// check reports every mistake that shows without reading the store.
func (b Blueprint) check(channel ChannelCheck) error {
	c := blueprintCheck{channel: channel}
	seen := nameSet{}
	for i, o := range b.Organizations {
		place := index("", "organizations", i)
		c.slugAndName(place, o.Slug, o.Name)
		if o.Slug == orgs.SystemSlug {
			c.faults.Add(place+".slug", orgs.ErrReserved)
		}
		c.unique(seen, place+".slug", o.Slug)
		c.faults.Add("", o.Quotas.Check(place+".quotas"))
		if o.Region != nil {
			_, err := orgs.ParseRegion(place+".default_region", *o.Region)
			c.faults.Add("", err)
		}
		if o.Searchable != nil {
			_, err := orgs.ParseSearchable(place+".searchable_metadata", *o.Searchable)
			c.faults.Add("", err)
		}
		groups := nameSet{}
		for n, g := range o.Groups {
			_, err := names.Label("", g)
			c.faults.Add(index(place, "groups", n), err)
			c.unique(groups, index(place, "groups", n), names.Fold(g))
		}
		c.channels(place, o.Channels)
		partials := nameSet{}
		for n, p := range o.Partials {
			_, err := events.NewPartial(p.Name, p.Description, p.Text, p.HTML)
			c.faults.Add(index(place, "partials", n), err)
			c.unique(partials, index(place, "partials", n)+".name", p.Name)
		}
		projects := nameSet{}
		for n, p := range o.Projects {
			c.unique(projects, index(place, "projects", n)+".slug", p.Slug)
			c.project(index(place, "projects", n), p)
		}
	}
	return c.faults.Err()
}

// checkOnly reports what an API key may not describe: another organization than this one, and what
// only users decide.
func (b Blueprint) checkOnly(organization string) error {
	var faults fault.Fields
	if len(b.Organizations) != 1 {
		faults.Addf("organizations", "must be one, which is %s", organization)
	}
	for i, o := range b.Organizations {
		place := index("", "organizations", i)
		if o.Slug != organization {
			faults.Addf(place+".slug", "must be %s, as the path says", organization)
		}
		if o.Quotas != nil {
			faults.Addf(place+".quotas", "can only be set on the command line")
		}
		if o.Factor != nil {
			faults.Addf(place+".require_second_factor", "can only be set on the command line and in the console")
		}
	}
	return faults.Err()
}

// MaxBlueprint is how many objects the blueprint of a key may describe. Each channel that an event
// names counts as one.
const MaxBlueprint = 2_000

// errBlueprintChecks says that too many templates would be checked.
var errBlueprintChecks = fault.Field("organizations",
	"need too many template checks: change fewer partials and templates at once, or one partial through …/partials/{name}/")

// checkSize refuses a blueprint of more than MaxBlueprint objects.
func (b Blueprint) checkSize() error {
	if n := b.size(); n > MaxBlueprint {
		return fault.Field("organizations", "may describe %d objects, and describe %d: send them in parts", MaxBlueprint, n)
	}
	return nil
}

// size returns how many objects a blueprint describes.
func (b Blueprint) size() int {
	n := len(b.Organizations)
	for _, o := range b.Organizations {
		n += len(o.Groups) + len(o.Channels) + len(o.Partials) + len(o.Projects)
		for _, p := range o.Projects {
			n += len(p.Channels) + len(p.Lists) + len(p.Applications)
			for _, a := range p.Applications {
				n += len(a.Events)
				for _, e := range a.Events {
					n += len(e.Channels) + len(e.Pools) + len(e.Templates) + len(e.Notifications)
					for _, w := range e.Notifications {
						n += len(w.Templates)
					}
				}
			}
		}
	}
	return n
}

// nameSet detects duplicate names in one list of a blueprint.
type nameSet map[string]bool

type blueprintCheck struct {
	channel ChannelCheck
	faults  fault.Fields
}

func (c *blueprintCheck) unique(seen nameSet, place, name string) {
	if seen[name] {
		c.faults.Addf(place, "appears twice")
	}
	seen[name] = true
}

func (c *blueprintCheck) slugAndName(place, slug, name string) {
	_, err := names.Slug("slug", slug)
	c.faults.Add(place, err)
	_, err = names.Label("name", name)
	c.faults.Add(place, err)
}

func (c *blueprintCheck) project(place string, p BlueprintProject) {
	c.slugAndName(place, p.Slug, p.Name)
	c.channels(place, p.Channels)
	seen := nameSet{}
	for i, l := range p.Lists {
		place := index(place, "lists", i)
		_, err := lists.New(l.Name)
		c.faults.Add(place, err)
		c.unique(seen, place+".name", names.Fold(l.Name))
	}
	seen = nameSet{}
	for i, a := range p.Applications {
		place := index(place, "applications", i)
		_, err := applications.New(a.Slug, a.Name)
		c.faults.Add(place, err)
		c.unique(seen, place+".slug", a.Slug)
		c.events(place, a.Events)
	}
}

func (c *blueprintCheck) channels(place string, all []BlueprintChannel) {
	seen := nameSet{}
	for i, b := range all {
		place := index(place, "channels", i)
		channel, err := channels.New(b.Name, b.Protocol, b.Driver)
		c.faults.Add(place, err)
		if err == nil {
			channel.Settings = b.Settings
			c.faults.Add(place, c.channel(channel))
		}
		c.faults.Add(place, channel.Join(b.Pool, b.Weight))
		c.unique(seen, place+".name", names.Fold(b.Name))
	}
}

func (c *blueprintCheck) events(place string, all []BlueprintEvent) {
	seen := nameSet{}
	for i, e := range all {
		place := index(place, "events", i)
		_, err := events.New(e.Slug, e.Name, e.Description)
		c.faults.Add(place, err)
		c.unique(seen, place+".slug", e.Slug)
		c.faults.Add(place, e.checkSchema(""))
		limited := nameSet{}
		for n, name := range e.Channels {
			c.unique(limited, index(place, "channels", n), names.Fold(name))
		}
		pools := nameSet{}
		for n, name := range e.Pools {
			c.unique(pools, index(place, "pools", n), name)
		}
		c.templates(place, e.Templates)
		notifications := nameSet{}
		for n, w := range e.Notifications {
			place := index(place, "notifications", n)
			_, err := subscriptions.NewNotification(w.Name)
			c.faults.Add(place, err)
			c.unique(notifications, place+".name", names.Fold(w.Name))
			c.templates(place, w.Templates)
		}
	}
}

func (c *blueprintCheck) templates(place string, all []BlueprintTemplate) {
	seen := nameSet{}
	for i, t := range all {
		place := index(place, "templates", i)
		_, err := events.NewTemplate(0, templates.Source{Subject: t.Subject, Text: t.Text, HTML: t.HTML, Markdown: t.Markdown})
		c.faults.Add(place, err)
		if t.Channel == "" {
			c.faults.Addf(place+".channel", "is required")
		}
		c.unique(seen, place+".channel", names.Fold(t.Channel))
	}
}
