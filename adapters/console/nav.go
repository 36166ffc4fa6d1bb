package console

import (
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/operators"
)

// section is a part of the navigation: a heading and the links below it.
type section struct {
	Title string
	Links []link
}

type link struct {
	Text, Path string
	Current    bool // the page is this one, or below it
}

// Navigation is where one can go from a page: the places around it that the visitor may see, the widest first.
func (v view) Navigation() []section {
	if v.User() == "" {
		return nil
	}
	var all []section
	add := func(title string, links ...link) { all = append(all, section{title, links}) }
	at := v.call.at()
	if org := at.Organization; org != "" && v.call.visitor.May(org, operators.Viewer) {
		here := []link{v.to("Home", "o", org), v.to("Users", "o", org, "u"), v.to("Groups", "o", org, "groups"),
			v.to("Projects", "o", org, "projects"), v.to("Channels", "o", org, "channels"), v.to("Mailbox", "o", org, "mailbox")}
		if v.MayOperate() {
			here = slices.Insert(here, 3, v.to("Imports", "o", org, "imports"))
		}
		if v.MayAdminister() {
			here = append(here, v.to("API keys", "o", org, "keys"), v.to("Audit log", "o", org, "audit"))
		}
		add(org, here...)
		if prj := at.Project; prj != "" {
			add(prj, v.to("Overview", "o", org, "p", prj), v.to("Distribution lists", "o", org, "p", prj, "d"),
				v.to("Applications", "o", org, "p", prj, "a"), v.to("Channels", "o", org, "p", prj, "channels"))
			if app := at.Application; app != "" {
				here := []link{v.to("Occurrences", "o", org, "p", prj, "a", app), v.to("Members", "o", org, "p", prj, "a", app, "m"),
					v.to("Events", "o", org, "p", prj, "a", app, "e")}
				if v.MayAdminister() {
					here = append(here, v.to("Settings", "o", org, "p", prj, "a", app, "settings"))
				}
				add(app, here...)
			}
		}
	}
	installation := []link{v.to("Overview")}
	if v.MayInstall() {
		installation = append(installation, v.to("Organizations", "organizations"), v.to("API keys", "keys"), v.to("System", "system"), v.to("Audit log", "audit"))
	}
	add("Installation", installation...)
	markCurrent(all, v.call.path(web.Canonical(v.call.Request()).URL.RawPath))
	return all
}

// Trail is the places that the page is below, the widest first, by their slugs; of a place's own page, those around it.
func (v view) Trail() []link {
	at := v.call.at()
	if v.User() == "" || !v.call.visitor.May(at.Organization, operators.Viewer) {
		return nil
	}
	var all []link
	here := v.call.path(web.Canonical(v.call.Request()).URL.RawPath)
	for _, place := range []struct {
		slug string
		path []any
	}{
		{at.Organization, []any{"o", at.Organization}},
		{at.Project, []any{"o", at.Organization, "p", at.Project}},
		{at.Application, []any{"o", at.Organization, "p", at.Project, "a", at.Application}},
	} {
		if l := v.to(place.slug, place.path...); place.slug != "" && l.Path != here {
			all = append(all, l)
		}
	}
	return all
}

func (v view) to(text string, segments ...any) link {
	return link{Text: text, Path: v.call.link(segments...)}
}

// markCurrent marks the link that is nearest to a path: the longest of those that it begins with.
func markCurrent(all []section, path string) {
	var nearest *link
	for s := range all {
		for i := range all[s].Links {
			l := &all[s].Links[i]
			if strings.HasPrefix(path, l.Path) && (nearest == nil || len(l.Path) > len(nearest.Path)) {
				nearest = l
			}
		}
	}
	if nearest != nil {
		nearest.Current = true
	}
}
