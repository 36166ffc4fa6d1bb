package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// MaxNamed is how many objects of each kind Search searches by name.
const MaxNamed = 2_000

// SearchResults are the objects of an organization that match a text: the first of each kind, and
// one more than the limit if there are more.
type SearchResults struct {
	Members          []users.Member
	Indexing         users.Indexing
	Occurrences      []events.Occurrence // by correlation id or id, the newest first
	Events           []events.Event
	Lists            []lists.List
	Channels         []channels.Channel
	Applications     []applications.Application
	ApplicationsByID map[applications.ID]applications.Application // those of the occurrences and events
	Partial          bool                                         // it has more than MaxNamed of a kind, and the others were not searched
	Projects         []orgs.Project                               // by their names
	ProjectsByID     map[orgs.ProjectID]orgs.Project
}

// Search searches an organization for a text: users by words, occurrences by the exact correlation
// id or id, all else by words of its name or slug. orgs.ErrNotFound.
func (o *Orgs) Search(ctx context.Context, at Path, text string, limit int) (SearchResults, error) {
	return viewAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) (found SearchResults, err error) {
		var errs [8]error
		var people users.Found
		people, errs[0] = tx.Users().Search(ctx, org.ID, users.Query{Text: text, Limit: limit + 1})
		found.Members = people.Members
		found.Indexing, errs[1] = tx.Users().Indexing(ctx, org.ID)
		found.Occurrences, errs[2] = tx.Deliveries().ByCorrelation(ctx, org.ID, text, limit+1)
		var es []events.Event
		es, errs[3] = tx.Events().OfOrganization(ctx, org.ID, MaxNamed+1)
		found.Events = matchingNames(es, limit, text, func(e events.Event) string { return e.Name + " " + e.Slug })
		var ls []lists.List
		ls, errs[4] = tx.Lists().OfOrganization(ctx, org.ID, 0, MaxNamed+1)
		found.Lists = matchingNames(ls, limit, text, func(l lists.List) string { return l.Name })
		var cs []channels.Channel
		cs, errs[5] = tx.Channels().OfOrganization(ctx, org.ID, 0, MaxNamed+1)
		found.Channels = matchingNames(cs, limit, text, func(c channels.Channel) string { return c.Name })
		var as []applications.Application
		as, errs[6] = tx.Applications().OfOrganization(ctx, org.ID, 0, MaxNamed+1)
		found.Applications = matchingNames(as, limit, text, func(a applications.Application) string { return a.Name + " " + a.Slug })
		found.Partial = max(len(es), len(ls), len(cs), len(as)) > MaxNamed
		found.ApplicationsByID = make(map[applications.ID]applications.Application, len(as))
		for _, a := range as {
			found.ApplicationsByID[a.ID] = a
		}
		found.ProjectsByID, errs[7] = projectsOf(ctx, tx, org.ID)
		found.Projects = matchingNames(slices.SortedFunc(maps.Values(found.ProjectsByID), func(a, b orgs.Project) int { return cmp.Compare(a.ID, b.ID) }), limit, text,
			func(p orgs.Project) string { return p.Name + " " + p.Slug })
		elsewhere := func(a applications.ID) bool { _, known := found.ApplicationsByID[a]; return !known }
		found.Events = slices.DeleteFunc(found.Events, func(e events.Event) bool { return elsewhere(e.Application) })
		found.Occurrences = slices.DeleteFunc(found.Occurrences, func(o events.Occurrence) bool { return elsewhere(o.Application) })
		return found, errors.Join(errs[:]...)
	})
}

// matchingNames returns the first objects whose names contain the words of a text, and one more
// than the limit if there are more.
func matchingNames[T any](all []T, limit int, text string, name func(T) string) (found []T) {
	for _, one := range all {
		if len(found) <= limit && users.MatchesText(name(one), text) {
			found = append(found, one)
		}
	}
	return found
}
