package console

import (
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
)

// pickable is how many places each list of the top bar shows; a search finds the others.
const pickable = 20

// placeCookie holds the last project and application that the visitor opened in an organization, as
// `acme/shop/web`, so that the menu links them from pages of the whole organization.
const placeCookie = "tocsin_place"

// frame is the content around a page, read once.
type frame struct {
	read          bool
	place         app.Location        // of the zero organization: the page is in none
	organizations []orgs.Organization // the first that the visitor may open; one more than pickable if there are more
}

// around reads the frame of the page. Parts that cannot be read are omitted: the page is still
// useful.
func (c call) around() frame {
	f := c.frame
	if f == nil {
		return frame{}
	}
	if f.read {
		return *f
	}
	f.read = true
	at := c.at()
	if at.Organization != "" && c.visitor.May(at.Organization, operators.Viewer) {
		like := c.remembered()
		if like.Organization != at.Organization {
			like = app.Path{}
		}
		if found, err := c.console.use.Orgs.Locate(c.ctx, at, like, pickable+1); err == nil {
			f.place = found
		}
	}
	if c.visitor.Administrator {
		// Before a second factor is set up, pages show nothing of the installation.
		if owed, err := c.console.use.Factors.Owed(c.ctx, c.visitor, operators.InstallationFactor, ""); owed || err != nil {
			return *f
		}
		if found, err := c.console.use.Orgs.List(c.ctx, app.Page{Limit: pickable + 1}); err == nil {
			f.organizations = found
		}
	} else {
		for _, p := range c.visitor.Visible() {
			f.organizations = append(f.organizations, p.Organization)
		}
	}
	return *f
}

// remembered returns the place last shown, from the browser's cookie.
func (c call) remembered() (p app.Path) {
	parts := strings.Split(c.sent(placeCookie), "/")
	for i, level := range []*string{&p.Organization, &p.Project, &p.Application} {
		if i < len(parts) {
			*level = parts[i]
		}
	}
	return p
}

// remember stores the place that the page shows in the browser.
func (c call) remember(place app.Location) {
	if place.Project.ID == 0 {
		return
	}
	value := strings.Join([]string{place.Organization.Slug, place.Project.Slug, place.Application.Slug}, "/")
	if value != c.sent(placeCookie) {
		c.SetCookie(c.cookie(placeCookie, value))
	}
}

// picker is a list of the top bar: the current place, and the alternatives.
type picker struct {
	Kind   words.Phrase
	Name   string // empty if the page is in none
	Links  []link
	Search string // the path of a search for more of them; empty: these are all
	Found  string // the kind to search for; empty: all
	All    link   // the page of all
}

// Pickers returns the lists of the top bar, the widest place first.
func (v view) Pickers() (all []picker) {
	f := v.call.around()
	if f.organizations == nil {
		return nil
	}
	p, org := f.place, f.place.Organization.Slug
	organizations := picker{Kind: words.Of("Organization"), Name: p.Organization.Name, All: v.to(words.Of("All organizations"))}
	for _, o := range f.organizations {
		organizations.Links = append(organizations.Links, v.choice(o.Name, o.ID == p.Organization.ID, "o", o.Slug))
	}
	all = append(all, organizations.cut(v.call.link()))
	if org == "" {
		return all
	}
	projects := picker{Kind: words.Of("Project"), Name: p.Project.Name, Found: "projects", All: v.to(words.Of("All projects"), "o", org, "projects")}
	for _, one := range p.Projects {
		projects.Links = append(projects.Links, v.choice(one.Name, one.ID == p.Project.ID, "o", org, "p", one.Slug))
	}
	all = append(all, projects.cut(v.SearchPath()))
	if p.Project.ID == 0 {
		return all
	}
	applications := picker{Kind: words.Of("Application"), Name: p.Application.Name, Found: "applications",
		All: v.to(words.Of("All applications of the project"), "o", org, "p", p.Project.Slug, "a")}
	for _, one := range p.Applications {
		to := []any{"o", org, "p", p.Project.Slug, "a", one.Slug}
		if page := v.pageOfApplication(); page != "" {
			to = append(to, page)
		}
		applications.Links = append(applications.Links, v.choice(one.Name, one.ID == p.Application.ID, to...))
	}
	return append(all, applications.cut(v.SearchPath()))
}

// cut limits the places to those shown, with a search if there are more.
func (p picker) cut(search string) picker {
	if len(p.Links) > pickable {
		p.Links, p.Search = p.Links[:pickable], search
	}
	return p
}

// choice is a link of a picker.
func (v view) choice(text string, current bool, segments ...any) link {
	l := v.to(text, segments...)
	l.Current = current
	return l
}

// pageOfApplication returns the page below the application, if all applications have it, so that
// switching applications keeps the page.
func (v view) pageOfApplication() string {
	here := strings.TrimPrefix(v.call.Request().URL.Path, Prefix)
	parts := strings.Split(strings.Trim(here, "/"), "/") // o, acme, p, shop, a, web, e
	if len(parts) >= 7 && slices.Contains([]string{"e", "m", "settings"}, parts[6]) && (parts[6] != "settings" || v.MayAdminister()) {
		return parts[6]
	}
	return ""
}
