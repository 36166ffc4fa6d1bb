package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Members is the use cases of operators on members: only they
// change locks (contract 3).
type Members struct {
	store ports.Store
	clock ports.Clock
}

// NewMembers returns the use cases on members for operators.
func NewMembers(store ports.Store, clock ports.Clock) *Members {
	return &Members{store: store, clock: clock}
}

// MaxShown is how many of each kind of thing a MemberReport holds at most.
const MaxShown = 200

// MemberReport is everything that an organization records about a member.
type MemberReport struct {
	Member        users.Member
	Addresses     []users.Address
	Assignments   []channels.Assignment
	Lists         []lists.List
	Registrations []applications.Registration
	Subscriptions []subscriptions.MemberSubscription
	OptOuts       []deliveries.ListedOptOut
	Projects      map[orgs.ProjectID]orgs.Project // of the fields above
	Groups        []orgs.Group                    // all of the organization
	Channels      []channels.Channel              // of the organization and its projects
}

// Assignable returns the channels that an address may be assigned to and is not.
func (p MemberReport) Assignable(a users.Address) []channels.Channel {
	return slices.DeleteFunc(slices.Clone(p.Channels), func(c channels.Channel) bool {
		return !c.Protocol.Accepts(a.Type) ||
			slices.ContainsFunc(p.Assignments, func(s channels.Assignment) bool { return s.Address == a.ID && s.Channel == c.ID })
	})
}

// Search returns a batch of the organization's members; orgs.ErrNotFound.
func (p *Members) Search(ctx context.Context, at Path, q users.Query) (users.Found, error) {
	return viewAt(ctx, p.store, at, organization, func(tx ports.Tx, org orgs.Organization) (users.Found, error) {
		return tx.Users().Search(ctx, org.ID, q.Trimmed())
	})
}

// How far members are counted: all of an organization, and those that match a query.
const (
	MaxTotal   = 50_000
	maxMatches = 1_000
)

// Total counts the organization's members that match a query, up to MaxTotal, or up to a thousand
// if the query does not match all; orgs.ErrNotFound.
func (p *Members) Total(ctx context.Context, at Path, q users.Query) (users.Total, error) {
	q = q.Trimmed()
	limit := maxMatches
	if q.IsZero() {
		limit = MaxTotal
	}
	return viewAt(ctx, p.store, at, organization, func(tx ports.Tx, org orgs.Organization) (found users.Total, err error) {
		found.N, found.More, err = tx.Users().Count(ctx, org.ID, q, limit)
		return found, err
	})
}

// Indexing returns the progress of the organization's search index; orgs.ErrNotFound.
func (p *Members) Indexing(ctx context.Context, at Path) (users.Indexing, error) {
	return viewAt(ctx, p.store, at, organization, func(tx ports.Tx, org orgs.Organization) (users.Indexing, error) {
		return tx.Users().Indexing(ctx, org.ID)
	})
}

// FilterChoices are what members can be filtered by and added to: of each kind the first MaxShown,
// and the selected one in any case.
type FilterChoices struct {
	Groups       []orgs.Group
	Lists        []lists.List
	Applications []applications.Application
	Projects     map[orgs.ProjectID]orgs.Project // of the lists and applications
}

// Choices returns what members of an organization can be filtered by and added to, including the
// filters of q; orgs.ErrNotFound.
func (p *Members) Choices(ctx context.Context, at Path, q users.Query) (FilterChoices, error) {
	return viewAt(ctx, p.store, at, organization, func(tx ports.Tx, org orgs.Organization) (found FilterChoices, err error) {
		var errs [4]error
		found.Groups, errs[0] = choices(q.Group, func(g orgs.Group) orgs.GroupID { return g.ID }, func(after orgs.GroupID, limit int) ([]orgs.Group, error) {
			return tx.Orgs().Groups(ctx, org.ID, after, limit)
		})
		found.Lists, errs[1] = choices(lists.ID(q.List), func(l lists.List) lists.ID { return l.ID }, func(after lists.ID, limit int) ([]lists.List, error) {
			return tx.Lists().OfOrganization(ctx, org.ID, after, limit)
		})
		found.Applications, errs[2] = choices(applications.ID(q.Application), func(a applications.Application) applications.ID { return a.ID },
			func(after applications.ID, limit int) ([]applications.Application, error) {
				return tx.Applications().OfOrganization(ctx, org.ID, after, limit)
			})
		found.Projects, errs[3] = projectsOf(ctx, tx, org.ID)
		return found, errors.Join(errs[:]...)
	})
}

// choices reads the first MaxShown of a kind by their ids, and the selected one; 0: none is.
func choices[T any, ID ~int64](asked ID, id func(T) ID, read func(after ID, limit int) ([]T, error)) ([]T, error) {
	all, err := read(0, MaxShown)
	is := func(t T) bool { return id(t) == asked }
	if err != nil || asked <= 0 || slices.ContainsFunc(all, is) {
		return all, err
	}
	one, err := read(asked-1, 1)
	if slices.ContainsFunc(one, is) {
		all = append(all, one...)
	}
	return all, err
}

// Show returns a member with everything that is recorded, of each kind at most MaxShown;
// orgs.ErrNotFound, users.ErrNotFound.
func (p *Members) Show(ctx context.Context, at Path, id users.MemberID) (MemberReport, error) {
	return viewAt(ctx, p.store, at, bind(memberByID, id), func(tx ports.Tx, m users.Member) (found MemberReport, err error) {
		found = MemberReport{Member: m}
		org := m.Organization
		var errs [9]error
		found.Addresses, errs[0] = tx.Addresses().List(ctx, org, id, 0, MaxShown)
		found.Assignments, errs[1] = tx.Assignments().OfMember(ctx, org, id, MaxShown)
		found.Lists, errs[2] = tx.Lists().OfMember(ctx, org, id, MaxShown)
		found.Registrations, errs[3] = tx.Applications().OfMember(ctx, org, id, MaxShown)
		found.Projects, errs[4] = projectsOf(ctx, tx, org)
		found.Subscriptions, errs[5] = tx.Subscriptions().OfMember(ctx, org, id, MaxShown)
		found.OptOuts, errs[6] = tx.Deliveries().OptOuts(ctx, org, id, MaxShown)
		found.Groups, errs[7] = tx.Orgs().Groups(ctx, org, 0, MaxShown)
		found.Channels, errs[8] = tx.Channels().OfOrganization(ctx, org, 0, MaxShown)
		return found, errors.Join(errs[:]...)
	})
}

// projectPage is how many projects are read at a time.
const projectPage = 500

func projectsOf(ctx context.Context, tx ports.Tx, org orgs.ID) (map[orgs.ProjectID]orgs.Project, error) {
	all := map[orgs.ProjectID]orgs.Project{}
	for after := orgs.ProjectID(0); ; {
		page, err := tx.Orgs().Projects(ctx, org, after, projectPage)
		if err != nil {
			return nil, err
		}
		for _, p := range page {
			all[p.ID] = p
			after = p.ID
		}
		if len(page) < projectPage {
			return all, nil
		}
	}
}

func memberPath(at Path, m users.Member) string {
	return Path{Organization: at.Organization}.Object("u", m.User.Username)
}

func memberByID(ctx context.Context, tx ports.Tx, at Path, id users.MemberID) (users.Member, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return users.Member{}, err
	}
	return tx.Users().ByID(ctx, org.ID, id)
}
