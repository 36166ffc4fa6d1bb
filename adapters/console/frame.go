package console

import (
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
)

// maxPickerLinks is how many entries each picker of the top bar shows; a search finds the others.
const maxPickerLinks = 20

// placeCookie holds the last project and application that the operator opened in an organization,
// as `acme/shop/web`, so that the menu links them from pages of the whole organization.
const placeCookie = "tocsin_place"

// frame is the data for the layout around a page. It is loaded once per request.
type frame struct {
	loaded        bool
	location      app.Location        // zero: the page belongs to no organization
	organizations []orgs.Organization // that the operator may open; at most one more than maxPickerLinks
}

// loadFrame loads the frame of the page. It omits parts that cannot be read, so that the page still
// works.
func (c call) loadFrame() frame {
	f := c.frame
	if f == nil {
		return frame{}
	}
	if f.loaded {
		return *f
	}
	f.loaded = true
	at := c.at()
	if at.Organization != "" && c.operator.May(at.Organization, operators.Viewer) {
		like := c.lastPlace()
		if like.Organization != at.Organization {
			like = app.Path{}
		}
		if found, err := c.console.use.Orgs.Locate(c.ctx, at, like, maxPickerLinks+1); err == nil {
			f.location = found
		}
	}
	if c.operator.Administrator {
		// Before a second factor is set up, pages show nothing of the installation.
		if owed, err := c.console.use.Factors.SetupRequired(c.ctx, c.operator, operators.InstallationFactor, ""); owed || err != nil {
			return *f
		}
		if found, err := c.console.use.Orgs.List(c.ctx, app.Page{Limit: maxPickerLinks + 1}); err == nil {
			f.organizations = found
		}
	} else {
		for _, p := range c.operator.Visible() {
			f.organizations = append(f.organizations, p.Organization)
		}
	}
	return *f
}

// lastPlace returns the project and application last shown, from a cookie.
func (c call) lastPlace() (p app.Path) {
	parts := strings.Split(c.sent(placeCookie), "/")
	for i, level := range []*string{&p.Organization, &p.Project, &p.Application} {
		if i < len(parts) {
			*level = parts[i]
		}
	}
	return p
}

// saveLastPlace stores the project and application of the page in a cookie.
func (c call) saveLastPlace(place app.Location) {
	if place.Project.ID == 0 {
		return
	}
	value := strings.Join([]string{place.Organization.Slug, place.Project.Slug, place.Application.Slug}, "/")
	if value != c.sent(placeCookie) {
		c.SetCookie(c.cookie(placeCookie, value))
	}
}

// picker is a drop-down list of the top bar: the current organization, project or application, and
// the others.
type picker struct {
	Kind       words.Phrase
	Name       string // of the current one; empty: none
	Links      []link
	Search     string // the path of a search for more of them; empty: these are all
	SearchKind string // the kind to search for; empty: all
	All        link   // the page of all
}

// Pickers returns the pickers of the top bar: organization, project, application.
func (v view) Pickers() (all []picker) {
	f := v.call.loadFrame()
	if f.organizations == nil {
		return nil
	}
	p, org := f.location, f.location.Organization.Slug
	organizations := picker{Kind: words.Of("Organization"), Name: p.Organization.Name, All: v.linkTo(words.Of("All organizations"))}
	for _, o := range f.organizations {
		organizations.Links = append(organizations.Links, v.pickerLink(o.Name, o.ID == p.Organization.ID, "o", o.Slug))
	}
	all = append(all, organizations.limit(v.call.link()))
	if org == "" {
		return all
	}
	projects := picker{Kind: words.Of("Project"), Name: p.Project.Name, SearchKind: "projects", All: v.linkTo(words.Of("All projects"), "o", org, "projects")}
	for _, one := range p.Projects {
		projects.Links = append(projects.Links, v.pickerLink(one.Name, one.ID == p.Project.ID, "o", org, "p", one.Slug))
	}
	all = append(all, projects.limit(v.SearchPath()))
	if p.Project.ID == 0 {
		return all
	}
	applications := picker{Kind: words.Of("Application"), Name: p.Application.Name, SearchKind: "applications",
		All: v.linkTo(words.Of("All applications of the project"), "o", org, "p", p.Project.Slug, "a")}
	for _, one := range p.Applications {
		to := []any{"o", org, "p", p.Project.Slug, "a", one.Slug}
		if page := v.pageOfApplication(); page != "" {
			to = append(to, page)
		}
		applications.Links = append(applications.Links, v.pickerLink(one.Name, one.ID == p.Application.ID, to...))
	}
	return append(all, applications.limit(v.SearchPath()))
}

// limit truncates the links, and adds the path of a search if there are more.
func (p picker) limit(search string) picker {
	if len(p.Links) > maxPickerLinks {
		p.Links, p.Search = p.Links[:maxPickerLinks], search
	}
	return p
}

// pickerLink returns a link of a picker.
func (v view) pickerLink(text string, current bool, segments ...any) link {
	l := v.linkTo(text, segments...)
	l.Current = current
	return l
}

// pageOfApplication returns the current page below the application, if every application has it.
// Links to other applications then keep the page.
func (v view) pageOfApplication() string {
	here := strings.TrimPrefix(v.call.Request().URL.Path, Prefix)
	parts := strings.Split(strings.Trim(here, "/"), "/") // o, acme, p, shop, a, web, e
	if len(parts) >= 7 && slices.Contains([]string{"e", "m", "settings"}, parts[6]) && (parts[6] != "settings" || v.MayAdminister()) {
		return parts[6]
	}
	return ""
}
