package blueprint

import (
	"go.yaml.in/yaml/v3"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
)

func (d *decoding) blueprint(n *yaml.Node) (b app.Blueprint) {
	if top, given := d.enter("", n); !given {
		d.blame(top, "", "is empty: there must be a member organizations")
		return b
	}
	d.object("", n, map[string]field{
		"organizations": sequence(d, &b.Organizations, d.organization),
	})
	return b
}

func (d *decoding) organization(place string, n *yaml.Node) (o app.BlueprintOrganization) {
	d.object(place, n, map[string]field{
		"slug":     d.text(&o.Slug),
		"name":     d.text(&o.Name),
		"groups":   sequence(d, &o.Groups, d.word),
		"channels": sequence(d, &o.Channels, d.channel),
		"partials": sequence(d, &o.Partials, d.partial),
		"projects": sequence(d, &o.Projects, d.project),
		"quotas":   d.quotas(&o.Quotas),

		"default_region":        d.optional(&o.Region),
		"require_second_factor": d.decision(&o.Factor),
		"searchable_metadata":   d.words(&o.Searchable),
	})
	return o
}

func (d *decoding) partial(place string, n *yaml.Node) (p app.BlueprintPartial) {
	d.object(place, n, map[string]field{
		"name":        d.text(&p.Name),
		"description": d.text(&p.Description),
		"text":        d.verbatim(&p.Text),
		"html":        d.verbatim(&p.HTML),
	})
	return p
}

func (d *decoding) project(place string, n *yaml.Node) (p app.BlueprintProject) {
	d.object(place, n, map[string]field{
		"slug":         d.text(&p.Slug),
		"name":         d.text(&p.Name),
		"channels":     sequence(d, &p.Channels, d.channel),
		"lists":        sequence(d, &p.Lists, d.list),
		"applications": sequence(d, &p.Applications, d.application),
	})
	return p
}

func (d *decoding) channel(place string, n *yaml.Node) (c app.BlueprintChannel) {
	c.Active, c.Weight = true, channels.DefaultWeight
	d.object(place, n, map[string]field{
		"name":      d.text(&c.Name),
		"protocol":  d.text(&c.Protocol),
		"driver":    d.text(&c.Driver),
		"preferred": d.truth(&c.Preferred),
		"active":    d.truth(&c.Active),
		"pool":      d.text(&c.Pool),
		"weight":    d.integer(&c.Weight),
		"settings":  d.settings(&c.Settings),
	})
	return c
}

func (d *decoding) list(place string, n *yaml.Node) (l app.BlueprintList) {
	d.object(place, n, map[string]field{
		"name":        d.text(&l.Name),
		"application": d.text(&l.Application),
	})
	return l
}

func (d *decoding) application(place string, n *yaml.Node) (a app.BlueprintApplication) {
	a.Active = true
	d.object(place, n, map[string]field{
		"slug":   d.text(&a.Slug),
		"name":   d.text(&a.Name),
		"active": d.truth(&a.Active),
		"events": sequence(d, &a.Events, d.event),
	})
	return a
}

func (d *decoding) event(place string, n *yaml.Node) (e app.BlueprintEvent) {
	e.Active = true
	d.object(place, n, map[string]field{
		"slug":           d.text(&e.Slug),
		"name":           d.text(&e.Name),
		"description":    d.text(&e.Description),
		"active":         d.truth(&e.Active),
		"priority":       d.text(&e.Priority),
		"context_schema": d.anything(func(m map[string]any) { e.Schema = m }),
		"channels":       sequence(d, &e.Channels, d.word),
		"pools":          sequence(d, &e.Pools, d.word),
		"templates":      sequence(d, &e.Templates, d.template),
		"notifications":  sequence(d, &e.Notifications, d.notification),
	})
	return e
}

func (d *decoding) notification(place string, n *yaml.Node) (w app.BlueprintNotification) {
	w.Active = true
	d.object(place, n, map[string]field{
		"name":      d.text(&w.Name),
		"list":      d.text(&w.List),
		"active":    d.truth(&w.Active),
		"templates": sequence(d, &w.Templates, d.template),
	})
	return w
}

func (d *decoding) template(place string, n *yaml.Node) (t app.BlueprintTemplate) {
	d.object(place, n, map[string]field{
		"channel":  d.text(&t.Channel),
		"subject":  d.text(&t.Subject),
		"text":     d.verbatim(&t.Text),
		"html":     d.verbatim(&t.HTML),
		"markdown": d.verbatim(&t.Markdown),
	})
	return t
}
