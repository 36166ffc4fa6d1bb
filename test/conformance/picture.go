package conformance

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/statistics"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// picture is everything that the port returns about an organization, read in one View, by
// descriptions of its parts.
type picture map[string]any

func (w *world) picture(t *testing.T, o tenant) picture {
	t.Helper()
	return look(t, w, func(tx ports.Tx) (picture, error) {
		p := picture{}
		v := viewer{ctx: t.Context(), tx: tx, seen: p}
		v.organization(o)
		return p, v.err
	})
}

// unchanged checks that an organization has not changed, and says which parts have.
func (w *world) unchanged(t *testing.T, o tenant, before picture, message string) {
	t.Helper()
	now := w.picture(t, o)
	names := slices.Sorted(maps.Keys(before))
	for name := range now {
		if _, old := before[name]; !old {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !assert.ObjectsAreEqual(before[name], now[name]) {
			t.Errorf("%s: %s of %s\nbefore: %v\nafter:  %v", message, name, o.org.Slug, before[name], now[name])
		}
	}
}

// viewer collects what it sees until the first fault.
type viewer struct {
	ctx  context.Context
	tx   ports.Tx
	seen picture
	err  error
}

// note stores the result of read and returns it.
func note[T any](v *viewer, name string, read func() (T, error)) (found T) {
	if v.err != nil {
		return found
	}
	found, v.err = read()
	v.seen[name] = found
	return found
}

// all stores a whole listing and returns it.
func all[T any, ID ~int64](v *viewer, name string, list listing[T, ID]) []T {
	return note(v, name, func() ([]T, error) { return everything(v.tx, list) })
}

func (v *viewer) organization(o tenant) {
	org, ctx := o.org.ID, v.ctx
	note(v, "organization", func() (orgs.Organization, error) { return v.tx.Orgs().BySlug(ctx, o.org.Slug) })
	from, _ := always()
	note(v, "failures", func() ([]statistics.Failures, error) {
		return v.tx.Statistics().Failures(ctx, []orgs.ID{org}, from, 100)
	})
	for _, name := range []string{orgs.DefaultGroup, "Staff"} {
		note(v, "group "+name, func() (orgs.Group, error) { return v.tx.Orgs().Group(ctx, org, name) })
	}
	members := all(v, "members", func(tx ports.Tx, after users.MemberID, limit int) ([]users.Member, error) {
		return tx.Users().List(ctx, org, after, limit)
	})
	var held []users.AddressID
	for _, m := range members {
		for _, a := range all(v, "addresses of "+m.User.Username, func(tx ports.Tx, after users.AddressID, limit int) ([]users.Address, error) {
			return tx.Addresses().List(ctx, org, m.ID, after, limit)
		}) {
			held = append(held, a.ID)
		}
	}
	note(v, "mailbox", func() ([]deliveries.MailboxMessage, error) {
		return v.tx.Mailbox().List(ctx, org, deliveries.MailboxFilter{Limit: 1_000})
	})
	v.channels("the organization", org, 0, held)
	for _, p := range all(v, "projects", func(tx ports.Tx, after orgs.ProjectID, limit int) ([]orgs.Project, error) {
		return tx.Orgs().Projects(ctx, org, after, limit)
	}) {
		v.channels(p.Slug, org, p.ID, held)
		v.project(p, members)
	}
}

// channels notes a scope's channels with their settings, and the assignments to them.
func (v *viewer) channels(scope string, org orgs.ID, project orgs.ProjectID, held []users.AddressID) {
	for _, c := range all(v, "channels of "+scope, func(tx ports.Tx, after channels.ID, limit int) ([]channels.Channel, error) {
		return tx.Channels().List(v.ctx, org, project, after, limit)
	}) {
		note(v, "channel "+c.Name+" of "+scope, func() (channels.Channel, error) { return v.tx.Channels().Find(v.ctx, org, project, c.Name) })
	}
	for _, p := range []channels.Protocol{channels.EMAIL, channels.SMS} {
		note(v, "assignments to "+string(p)+" of "+scope, func() ([]channels.Assignment, error) {
			return v.tx.Assignments().OfAddresses(v.ctx, org, project, p, held)
		})
	}
}

func (v *viewer) project(p orgs.Project, members []users.Member) {
	for _, l := range all(v, "lists of "+p.Slug, func(tx ports.Tx, after lists.ID, limit int) ([]lists.List, error) {
		return tx.Lists().List(v.ctx, p.Organization, p.ID, after, limit)
	}) {
		all(v, "recipients of "+p.Slug+"/"+l.Name, func(tx ports.Tx, after channels.AssignmentID, limit int) ([]lists.Recipient, error) {
			return tx.Lists().Recipients(v.ctx, l, after, limit)
		})
	}
	for _, a := range all(v, "applications of "+p.Slug, func(tx ports.Tx, after applications.ID, limit int) ([]applications.Application, error) {
		return tx.Applications().List(v.ctx, p.Organization, p.ID, after, limit)
	}) {
		v.application(p.Slug+"/"+a.Slug, a, members)
	}
}

func (v *viewer) application(path string, a applications.Application, members []users.Member) {
	for _, e := range all(v, "events of "+path, func(tx ports.Tx, after events.ID, limit int) ([]events.Event, error) {
		return tx.Events().List(v.ctx, a, after, limit)
	}) {
		note(v, "templates of "+path+"/"+e.Slug, func() ([]events.Template, error) { return v.tx.Events().Templates(v.ctx, e) })
	}
	for _, n := range all(v, "notifications of "+path, func(tx ports.Tx, after subscriptions.NotificationID, limit int) ([]subscriptions.Notification, error) {
		return tx.Subscriptions().Notifications(v.ctx, a, after, limit)
	}) {
		note(v, "templates of "+path+" "+n.Name, func() ([]events.Template, error) { return v.tx.Subscriptions().Templates(v.ctx, n) })
	}
	for _, m := range members {
		note(v, "membership of "+m.User.Username+" in "+path, func() (registration, error) { return registrationOf(v.ctx, v.tx, a, m.ID) })
	}
}

// registration is the result of Repository.Membership.
type registration struct {
	applications.Membership
	Exists bool
}

func registrationOf(ctx context.Context, tx ports.Tx, a applications.Application, m users.MemberID) (registration, error) {
	all, exist, err := tx.Applications().Memberships(ctx, a, []users.MemberID{m})
	if err != nil {
		return registration{}, err
	}
	return registration{Membership: all[0], Exists: exist[0]}, nil
}
