package console

import (
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
)

// link is a link of a page.
type link struct {
	Text    any // words, or the name of a place
	Path    string
	Current bool // the current page is this one or below it
}

// entry is an entry of the menu, with its subpages.
type entry struct {
	link

	Open       bool // the subpages are shown, because the current page is one of them
	Pages      []link
	otherPaths []string // of other pages that belong to this entry
}

// Navigation returns the menu of a page: that of its organization, or else of the installation. It
// has only pages that the operator may see.
func (v view) Navigation() []entry {
	if v.User() == "" {
		return nil
	}
	all := v.installationMenu()
	if p := v.call.loadFrame().location; p.Organization.ID != 0 {
		all = v.organizationMenu(p)
	}
	markCurrent(all, v.call.path(web.Canonical(v.call.Request()).URL.RawPath))
	return all
}

func (v view) installationMenu() []entry {
	all := []entry{{link: v.linkTo(words.Of("Home"))}}
	for _, l := range v.installationPages() {
		all = append(all, entry{link: l})
	}
	return all
}

// installationPages returns the pages for administering the installation.
func (v view) installationPages() []link {
	if !v.MayManageInstallation() {
		return nil
	}
	return []link{v.linkTo(words.Of("Organizations"), "organizations"), v.linkTo(words.Of("Installation's API keys"), "keys"), v.linkTo(words.Of("Installation's audit log"), "audit"), v.linkTo(words.Of("System"), "system")}
}

func (v view) organizationMenu(p app.Location) []entry {
	org, prj := []any{"o", p.Organization.Slug}, []any{"o", p.Organization.Slug, "p", p.Project.Slug}
	application := slices.Concat(prj, []any{"a", p.Application.Slug})
	// If there is no project or application yet, the menu links to the page that creates one.
	messages, events, lists := v.linkIn(words.Of("Messages"), application), v.linkIn(words.Of("Events"), application, "e"), v.linkIn(words.Of("Lists"), prj, "d")
	switch {
	case p.Project.ID == 0:
		messages, events, lists = v.linkIn(words.Of("Messages"), org, "projects"), v.linkIn(words.Of("Events"), org, "projects"), v.linkIn(words.Of("Lists"), org, "projects")
	case p.Application.ID == 0:
		messages, events = v.linkIn(words.Of("Messages"), prj, "a"), v.linkIn(words.Of("Events"), prj, "a")
	}
	people := entry{link: v.linkIn(words.Of("People"), org, "u"), Pages: []link{v.linkIn(words.Of("Groups"), org, "groups")}}
	if v.MayOperate() {
		people.Pages = append(people.Pages, v.linkIn(words.Of("Imports"), org, "imports"))
	}
	channels := entry{link: v.linkIn(words.Of("Channels"), org, "channels")}
	settings := entry{link: v.linkIn(words.Of("Settings"), org, "settings"), Pages: v.settingsPages(p)}
	eventsEntry := entry{link: events, Pages: []link{v.linkIn(words.Of("Partials"), org, "partials")}}
	if p.Project.ID != 0 {
		channels.Pages = []link{v.linkIn(words.Of("Project channels"), prj, "channels")}
	}
	if p.Application.ID != 0 {
		people.Pages = append(people.Pages, v.linkIn(words.Of("Application members"), application, "m"))
		eventsEntry.otherPaths = []string{v.linkIn("", application, "n").Path}
	}
	return []entry{{link: v.linkIn(words.Of("Home"), org)}, people, {link: messages, Pages: []link{v.linkIn(words.Of("Mailbox"), org, "mailbox")}}, eventsEntry, {link: lists}, channels, settings}
}

// settingsPages returns the settings pages that the operator may see.
func (v view) settingsPages(p app.Location) []link {
	org, prj := []any{"o", p.Organization.Slug}, []any{"o", p.Organization.Slug, "p", p.Project.Slug}
	all := []link{v.linkIn(words.Of("Projects and sign-in"), org, "projects")}
	if p.Project.ID != 0 {
		all = append(all, v.linkIn(words.Of("This project"), prj), v.linkIn(words.Of("Applications"), prj, "a"))
	}
	if v.MayAdminister() {
		if p.Application.ID != 0 {
			all = append(all, v.linkIn(words.Of("This application"), prj, "a", p.Application.Slug, "settings"))
		}
		all = append(all, v.linkIn(words.Of("Team"), org, "team"), v.linkIn(words.Of("API keys"), org, "keys"), v.linkIn(words.Of("Audit log"), org, "audit"))
	}
	return append(all, v.installationPages()...)
}

// Breadcrumbs returns links to the organization, project and application above the page.
func (v view) Breadcrumbs() []link {
	at, p := v.call.at(), v.call.loadFrame().location
	var all []link
	here := v.call.path(web.Canonical(v.call.Request()).URL.RawPath)
	for _, place := range []struct {
		slug, name string
		path       []any
	}{
		{at.Organization, p.Organization.Name, []any{"o", at.Organization}},
		{at.Project, p.Project.Name, []any{"o", at.Organization, "p", at.Project}},
		{at.Application, p.Application.Name, []any{"o", at.Organization, "p", at.Project, "a", at.Application}},
	} {
		if l := v.linkTo(place.name, place.path...); place.slug != "" && place.name != "" && l.Path != here {
			all = append(all, l)
		}
	}
	return all
}

// linkIn returns a link to a page below a path.
func (v view) linkIn(text any, place []any, page ...any) link {
	return v.linkTo(text, slices.Concat(place, page)...)
}

func (v view) linkTo(text any, segments ...any) link {
	return link{Text: text, Path: v.call.link(segments...)}
}

// markCurrent marks the link that is the longest prefix of a path, and opens its entry.
func markCurrent(all []entry, path string) {
	var nearest *link
	var within *entry
	longest := 0
	look := func(e *entry, l *link, at string) {
		if strings.HasPrefix(path, at) && len(at) >= longest {
			nearest, within, longest = l, e, len(at)
		}
	}
	for i := range all {
		e := &all[i]
		look(e, &e.link, e.Path)
		for j := range e.Pages {
			look(e, &e.Pages[j], e.Pages[j].Path)
		}
		for _, at := range e.otherPaths {
			look(e, &e.link, at)
		}
	}
	if nearest != nil {
		nearest.Current, within.Open = true, true
	}
}
