package blueprint

import (
	"go.yaml.in/yaml/v3"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
)

func (d *treeDecoder) blueprint(n *yaml.Node) (b app.Blueprint) {
	if top, given := d.resolve("", n); !given {
		d.addMistake(top, "", "is empty: there must be a member organizations")
		return b
	}
	d.object("", n, map[string]field{
		"organizations": sequence(d, &b.Organizations, d.organization),
	})
	return b
}

func (d *treeDecoder) organization(path string, n *yaml.Node) (o app.BlueprintOrganization) {
	d.object(path, n, map[string]field{
		"slug":     d.text(&o.Slug),
		"name":     d.text(&o.Name),
		"groups":   sequence(d, &o.Groups, d.textElement),
		"channels": sequence(d, &o.Channels, d.channel),
		"partials": sequence(d, &o.Partials, d.partial),
		"projects": sequence(d, &o.Projects, d.project),
		"quotas":   d.quotas(&o.Quotas),

		"default_region":        d.optionalText(&o.Region),
		"require_second_factor": d.optionalBoolean(&o.Factor),
		"searchable_metadata":   d.optionalTexts(&o.Searchable),
	})
	return o
}

func (d *treeDecoder) partial(path string, n *yaml.Node) (p app.BlueprintPartial) {
	d.object(path, n, map[string]field{
		"name":        d.text(&p.Name),
		"description": d.text(&p.Description),
		"text":        d.verbatim(&p.Text),
		"html":        d.verbatim(&p.HTML),
	})
	return p
}

func (d *treeDecoder) project(path string, n *yaml.Node) (p app.BlueprintProject) {
	d.object(path, n, map[string]field{
		"slug":         d.text(&p.Slug),
		"name":         d.text(&p.Name),
		"channels":     sequence(d, &p.Channels, d.channel),
		"lists":        sequence(d, &p.Lists, d.list),
		"applications": sequence(d, &p.Applications, d.application),
	})
	return p
}

func (d *treeDecoder) channel(path string, n *yaml.Node) (c app.BlueprintChannel) {
	c.Active, c.Weight = true, channels.DefaultWeight
	d.object(path, n, map[string]field{
		"name":      d.text(&c.Name),
		"protocol":  d.text(&c.Protocol),
		"driver":    d.text(&c.Driver),
		"preferred": d.boolean(&c.Preferred),
		"active":    d.boolean(&c.Active),
		"pool":      d.text(&c.Pool),
		"weight":    d.integer(&c.Weight),
		"settings":  d.settings(&c.Settings),
	})
	return c
}

func (d *treeDecoder) list(path string, n *yaml.Node) (l app.BlueprintList) {
	d.object(path, n, map[string]field{
		"name":        d.text(&l.Name),
		"application": d.text(&l.Application),
	})
	return l
}

func (d *treeDecoder) application(path string, n *yaml.Node) (a app.BlueprintApplication) {
	a.Active = true
	d.object(path, n, map[string]field{
		"slug":   d.text(&a.Slug),
		"name":   d.text(&a.Name),
		"active": d.boolean(&a.Active),
		"events": sequence(d, &a.Events, d.event),
	})
	return a
}

func (d *treeDecoder) event(path string, n *yaml.Node) (e app.BlueprintEvent) {
	e.Active = true
	d.object(path, n, map[string]field{
		"slug":           d.text(&e.Slug),
		"name":           d.text(&e.Name),
		"description":    d.text(&e.Description),
		"active":         d.boolean(&e.Active),
		"priority":       d.text(&e.Priority),
		"context_schema": d.anyMapping(func(m map[string]any) { e.Schema = m }),
		"channels":       sequence(d, &e.Channels, d.textElement),
		"pools":          sequence(d, &e.Pools, d.textElement),
		"templates":      sequence(d, &e.Templates, d.template),
		"notifications":  sequence(d, &e.Notifications, d.notification),
	})
	return e
}

func (d *treeDecoder) notification(path string, n *yaml.Node) (w app.BlueprintNotification) {
	w.Active = true
	d.object(path, n, map[string]field{
		"name":      d.text(&w.Name),
		"list":      d.text(&w.List),
		"active":    d.boolean(&w.Active),
		"templates": sequence(d, &w.Templates, d.template),
	})
	return w
}

func (d *treeDecoder) template(path string, n *yaml.Node) (t app.BlueprintTemplate) {
	d.object(path, n, map[string]field{
		"channel":  d.text(&t.Channel),
		"subject":  d.text(&t.Subject),
		"text":     d.verbatim(&t.Text),
		"html":     d.verbatim(&t.HTML),
		"markdown": d.verbatim(&t.Markdown),
	})
	return t
}
