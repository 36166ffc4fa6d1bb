package conformance

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// world has the objects of a case.
type world struct {
	ports.Store
	mine   tenant  // the organization of the case
	theirs tenant  // its twin
	before picture // the picture of the twin that must not change
}

// tenant is an organization with its objects. Two tenants differ only in the organization's slug.
type tenant struct {
	org       orgs.Organization
	staff     orgs.Group
	shop      orgs.Project     // where nearly everything is
	annex     orgs.Project     // has a channel, a list and an application of the same names
	mail      channels.Channel // EMAIL of the organization, preferred
	text      channels.Channel // SMS of the organization, preferred
	shopMail  channels.Channel // EMAIL of the shop, not preferred
	annexMail channels.Channel // EMAIL of the annex, not preferred
	web       applications.Application
	desk      applications.Application
	annexWeb  applications.Application
	news      lists.List // not pinned
	pinned    lists.List // to web
	annexNews lists.List
	order     events.Event // of web
	shipped   subscriptions.Notification

	ada, bob             users.Member // of one identity in both organizations
	adaMail, bobMail     users.Address
	adaPhone             users.Address
	adaByMail, bobByMail channels.Assignment // to mail; Ada's is on both lists of the shop
	adaByText            channels.Assignment
}

// newWorld fills an empty store.
func newWorld(t *testing.T, s ports.Store) *world {
	t.Helper()
	w := &world{Store: s}
	require.NoError(t, s.Update(t.Context(), func(tx ports.Tx) (err error) {
		if w.mine, err = furnish(t, tx, "acme"); err != nil {
			return err
		}
		w.theirs, err = furnish(t, tx, "zeta")
		return err
	}), "a store that cannot keep the world of the cases cannot keep their promises either")
	w.indexAll(t)
	w.settle(t)
	return w
}

// settle is for cases that change the other organization first: from now on it must stay unchanged.
func (w *world) settle(t *testing.T) {
	t.Helper()
	w.before = w.picture(t, w.theirs)
}

// apart returns a copy that shares no map with w, so that cases can run side by side.
func (w *world) apart() *world {
	other := *w
	for _, o := range []*tenant{&other.mine, &other.theirs} {
		for _, c := range []*channels.Channel{&o.mail, &o.text, &o.shopMail, &o.annexMail} {
			c.Settings = maps.Clone(c.Settings)
		}
	}
	return &other
}

// furnisher keeps the first fault of many writes.
type furnisher struct {
	t   *testing.T
	tx  ports.Tx
	err error
}

// kept returns the result of a write, unless another one failed before.
func kept[T any](f *furnisher, write func() (T, error)) (v T) {
	if f.err == nil {
		v, f.err = write()
	}
	return v
}

func furnish(t *testing.T, tx ports.Tx, slug string) (tenant, error) {
	t.Helper()
	var o tenant
	ctx, f := t.Context(), &furnisher{t: t, tx: tx}
	o.org = kept(f, func() (orgs.Organization, error) {
		return tx.Orgs().Create(ctx, orgs.Organization{Slug: slug, Name: "Company"})
	})
	o.staff = kept(f, func() (orgs.Group, error) {
		g, _, err := tx.Orgs().EnsureGroup(ctx, o.org.ID, "Staff")
		return g, err
	})
	o.shop, o.annex = f.project(o.org, "shop"), f.project(o.org, "annex")
	o.mail = f.channel(channels.Channel{Organization: o.org.ID, Name: "Mail", Protocol: channels.EMAIL, Preferred: true})
	o.text = f.channel(channels.Channel{Organization: o.org.ID, Name: "Text", Protocol: channels.SMS, Preferred: true})
	o.shopMail = f.channel(channels.Channel{Organization: o.org.ID, Project: o.shop.ID, Name: "Shop mail", Protocol: channels.EMAIL})
	o.annexMail = f.channel(channels.Channel{Organization: o.org.ID, Project: o.annex.ID, Name: "Shop mail", Protocol: channels.EMAIL})
	o.web, o.desk, o.annexWeb = f.application(o.shop, "web"), f.application(o.shop, "desk"), f.application(o.annex, "web")
	o.news, o.annexNews = f.list(o.shop, "News", 0), f.list(o.annex, "News", 0)
	o.pinned = f.list(o.shop, "Web users", o.web.ID)
	o.order = kept(f, func() (events.Event, error) {
		return tx.Events().Create(ctx, events.Event{Organization: o.org.ID, Application: o.web.ID, Slug: "order", Name: "order", Active: true})
	})
	o.shipped = kept(f, func() (subscriptions.Notification, error) {
		return tx.Subscriptions().Create(ctx, subscriptions.Notification{Application: o.web.ID, Event: o.order.ID, Name: "Shipped", Active: true})
	})
	f.people(&o)
	return o, f.err
}

// people creates the members Ada and Bob with addresses and assignments. Ada also has list entries
// and a membership in web.
func (f *furnisher) people(o *tenant) {
	ctx, tx := f.t.Context(), f.tx
	o.ada, o.bob = f.member(o.org, "ada@example.org"), f.member(o.org, "bob@example.org")
	o.adaMail = f.address(o.ada, users.NewEmailAddress("ada@example.org"))
	o.adaPhone = f.address(o.ada, users.Address{Value: "+14155552671", Name: "phone", Type: users.Phone})
	o.bobMail = f.address(o.bob, users.NewEmailAddress("bob@example.org"))
	o.adaByMail = f.assignment(o.org, channels.Assign(o.adaMail, o.mail))
	o.adaByText = f.assignment(o.org, channels.Assign(o.adaPhone, o.text))
	o.bobByMail = f.assignment(o.org, channels.Assign(o.bobMail, o.mail))
	for _, l := range []lists.List{o.news, o.pinned} {
		kept(f, func() ([]channels.AssignmentID, error) {
			return tx.Lists().Add(ctx, l, []channels.AssignmentID{o.adaByMail.ID})
		})
	}
	kept(f, func() (any, error) {
		m, err := applications.NewMembership(o.web.ID, o.ada.ID, false).Register(metadata.Map{"plan": "free"}, true)
		if err != nil {
			return nil, err
		}
		return nil, saveMembership(ctx, tx, o.web, m)
	})
	kept(f, func() (subscriptions.Subscription, error) {
		s, _, err := tx.Subscriptions().Subscribe(ctx, o.shipped, o.adaByMail.ID, true)
		return s, err
	})
}

func (f *furnisher) project(o orgs.Organization, slug string) orgs.Project {
	return kept(f, func() (orgs.Project, error) {
		return f.tx.Orgs().CreateProject(f.t.Context(), orgs.Project{Organization: o.ID, Slug: slug, Name: "Project"})
	})
}

func (f *furnisher) channel(c channels.Channel) channels.Channel {
	c.Driver, c.Active, c.Settings = "smtp", true, channels.Settings{"host": "localhost"}
	return kept(f, func() (channels.Channel, error) { return f.tx.Channels().Create(f.t.Context(), c) })
}

func (f *furnisher) application(p orgs.Project, slug string) applications.Application {
	return kept(f, func() (applications.Application, error) {
		return f.tx.Applications().Create(f.t.Context(), applications.Application{Organization: p.Organization, Project: p.ID, Slug: slug,
			Name: "Application", Active: true})
	})
}

func (f *furnisher) list(p orgs.Project, name string, pin applications.ID) lists.List {
	return kept(f, func() (lists.List, error) {
		return f.tx.Lists().Create(f.t.Context(), lists.List{Organization: p.Organization, Project: p.ID, Name: name, Application: pin})
	})
}

func (f *furnisher) member(o orgs.Organization, email string) users.Member {
	return kept(f, func() (users.Member, error) {
		m, err := ensurePerson(f.t.Context(), f.tx, o.ID, person{Username: email, Email: email})
		return m, err
	})
}

func (f *furnisher) address(m users.Member, a users.Address) users.Address {
	stored := kept(f, func() ([]users.Address, error) {
		as, _, err := ensureAddresses(f.t.Context(), f.tx, m.Organization, m.ID, []users.Address{a})
		return as, err
	})
	return only(stored)
}

func (f *furnisher) assignment(o orgs.Organization, a channels.Assignment) channels.Assignment {
	return only(kept(f, func() ([]channels.Assignment, error) {
		stored, _, err := f.tx.Assignments().Ensure(f.t.Context(), o.ID, []channels.Assignment{a})
		return stored, err
	}))
}

// only returns the only element of vs, or the zero value.
func only[T any](vs []T) (v T) {
	if len(vs) == 1 {
		v = vs[0]
	}
	return v
}
