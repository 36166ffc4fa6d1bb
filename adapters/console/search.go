package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// How many results a search page shows of each kind, and if only one kind is requested.
const (
	searchFirst = 10
	searchAll   = 200
)

// hit is a search result.
type hit struct {
	Text   any // words, or the name of a thing
	Path   string
	Detail string // distinguishes results with the same text
}

// hitGroup is the search results of one kind.
type hitGroup struct {
	Kind  string
	Title words.Phrase
	Hits  []hit
	All   string // the path of all results of this kind; empty: these are all
}

// searchView is the search results by kind.
type searchView struct {
	Text     string
	Searched bool
	Indexing users.Indexing
	Limit    int // how many objects of each kind were searched; 0: all
	Groups   []hitGroup
}

func (c call) showSearch() error {
	kind := c.QueryParam("kind")
	text, err := users.ParseText("q", c.QueryParam("q"))
	if err != nil {
		text = ""
	}
	v := searchView{Text: text, Searched: text != ""}
	if v.Searched {
		if err := c.search(&v, kind); err != nil {
			return err
		}
	}
	return c.render(http.StatusOK, "search", words.Of("Search"), v)
}

// search adds the results of one kind, or of all, to the view.
func (c call) search(v *searchView, kind string) error {
	limit := searchFirst
	if kind != "" {
		limit = searchAll
	}
	found, err := c.console.use.Orgs.Search(c.ctx, c.at(), v.Text, limit)
	if err != nil {
		return err
	}
	v.Indexing = found.Indexing
	if found.Partial {
		v.Limit = app.MaxNamed
	}
	for _, g := range []hitGroup{
		{"people", words.Of("People"), hitsOf(found.Members, c.memberHit), ""},
		{"occurrences", words.Of("Occurrences"), hitsOf(found.Occurrences, func(o events.Occurrence) hit { return c.occurrenceHit(found, o) }), ""},
		{"events", words.Of("Events"), hitsOf(found.Events, func(e events.Event) hit {
			in := found.ApplicationsByID[e.Application]
			return hit{e.Name, c.link(c.applicationSegments(found, in.Project, in.Slug, "e", e.Slug)...), in.Name}
		}), ""},
		{"lists", words.Of("Distribution lists"), nil, ""}, {"channels", words.Of("Channels"), nil, ""}, {"projects", words.Of("Projects"), nil, ""}, {"applications", words.Of("Applications"), nil, ""},
		{"pages", words.Of("Pages and actions"), c.pageHits(v.Text), ""},
	} {
		switch g.Kind {
		case "lists":
			for _, l := range found.Lists {
				slug := found.ProjectsByID[l.Project].Slug
				g.Hits = append(g.Hits, hit{l.Name, c.link("o", c.at().Organization, "p", slug, "d", l.ID), slug})
			}
		case "channels":
			for _, ch := range found.Channels {
				to, beside := []any{"o", c.at().Organization}, ""
				if ch.Project != 0 {
					beside = found.ProjectsByID[ch.Project].Slug
					to = append(to, "p", beside)
				}
				g.Hits = append(g.Hits, hit{ch.Name, c.link(append(to, "channels", ch.ID)...), beside})
			}
		case "projects":
			for _, p := range found.Projects {
				g.Hits = append(g.Hits, hit{p.Name, c.link("o", c.at().Organization, "p", p.Slug), p.Slug})
			}
		case "applications":
			for _, a := range found.Applications {
				g.Hits = append(g.Hits, hit{a.Name, c.link(c.applicationSegments(found, a.Project, a.Slug)...), found.ProjectsByID[a.Project].Slug})
			}
		}
		if len(g.Hits) == 0 || kind != "" && g.Kind != kind {
			continue
		}
		if len(g.Hits) > limit {
			g.Hits = g.Hits[:limit]
			switch {
			case g.Kind == "people":
				g.All = c.membersPath() + "?" + url.Values{"q": {v.Text}}.Encode()
			case kind == "":
				g.All = view{call: c}.SearchPath() + "?" + url.Values{"q": {v.Text}, "kind": {g.Kind}}.Encode()
			}
		}
		v.Groups = append(v.Groups, g)
	}
	return nil
}

func hitsOf[T any](all []T, show func(T) hit) []hit {
	shown := make([]hit, len(all))
	for i, one := range all {
		shown[i] = show(one)
	}
	return shown
}

func (c call) memberHit(m users.Member) hit {
	h := hit{Text: strings.TrimSpace(m.FirstName + " " + m.LastName), Path: c.link("o", c.at().Organization, "u", m.ID), Detail: m.User.Username}
	if h.Text == "" {
		h.Text, h.Detail = m.User.Username, ""
	}
	if m.Email != "" && m.Email != m.User.Username {
		h.Detail = strings.TrimSpace(h.Detail + " " + m.Email)
	}
	return h
}

func (c call) occurrenceHit(found app.SearchResults, o events.Occurrence) hit {
	in, id := found.ApplicationsByID[o.Application], strconv.FormatInt(int64(o.ID), 10)
	return hit{strings.TrimSpace(id + " " + o.CorrelationID), c.link(c.applicationSegments(found, in.Project, in.Slug, "occurrences", o.ID)...), in.Name}
}

// applicationSegments returns the segments of a path below an application.
func (c call) applicationSegments(found app.SearchResults, project orgs.ProjectID, slug string, below ...any) []any {
	return slices.Concat([]any{"o", c.at().Organization, "p", found.ProjectsByID[project].Slug, "a", slug}, below)
}

// pageHits returns the pages and actions of the organization that match a text.
func (c call) pageHits(text string) (found []hit) {
	v := view{call: c}
	var all []link
	for _, e := range v.Navigation() {
		all = append(append(all, e.link), e.Pages...)
	}
	org := c.at().Organization
	if v.MayOperate() {
		all = append(all, v.linkTo(words.Of("New user"), "o", org, "u", "new"), v.linkTo(words.Of("Import members"), "o", org, "imports"))
	}
	if v.MayAdminister() {
		all = append(all, v.linkTo(words.Of("New channel"), "o", org, "channels", "new"), v.linkTo(words.Of("New group"), "o", org, "groups"), v.linkTo(words.Of("New project"), "o", org, "projects"),
			v.linkTo(words.Of("New API key"), "o", org, "keys"))
	}
	for _, l := range all {
		if users.MatchesText(c.said(l.Text), text) {
			found = append(found, hit{Text: l.Text, Path: l.Path})
		}
	}
	return found
}

// Indexing returns the progress of the search index of the page's organization; the zero value on
// an error.
func (v view) Indexing() users.Indexing {
	found, err := v.call.console.use.Members.Indexing(v.call.ctx, v.call.at())
	if err != nil {
		return users.Indexing{}
	}
	return found
}

// SearchPath returns the path of the search in the page's organization; empty if the operator may
// not use it.
func (v view) SearchPath() string {
	org := v.call.at().Organization
	if v.User() == "" || org == "" || !v.call.operator.May(org, operators.Viewer) {
		return ""
	}
	return v.call.link("o", org, "search")
}
