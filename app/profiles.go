package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/lists"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Profiles is what operators see of people and change about them: the only place where locks change (contract 3).
type Profiles struct {
	store ports.Store
	clock ports.Clock
}

// NewProfiles returns the use cases on people for those who look after them.
func NewProfiles(store ports.Store, clock ports.Clock) *Profiles {
	return &Profiles{store: store, clock: clock}
}

// MaxShown is how many of each kind of thing a profile holds at most.
const MaxShown = 200

// Profile is everything that an organization records about a member.
type Profile struct {
	Member        users.Member
	Addresses     []users.Address
	Assignments   []channels.Assignment
	Lists         []lists.List
	Registrations []applications.Registration
	Projects      map[orgs.ProjectID]orgs.Project // of what is above
}

// Search returns a stretch of the organization's members; orgs.ErrNotFound.
func (p *Profiles) Search(ctx context.Context, at Path, q users.Query) (found users.Found, err error) {
	err = p.store.View(ctx, func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(ctx, at.Organization)
		if err != nil {
			return err
		}
		found, err = tx.Users().Search(ctx, org.ID, q.Trimmed())
		return err
	})
	return found, err
}

// Show returns a member with all that is recorded, of each kind at most MaxShown; orgs.ErrNotFound, users.ErrNotFound.
func (p *Profiles) Show(ctx context.Context, at Path, id users.MemberID) (found Profile, err error) {
	err = p.store.View(ctx, func(tx ports.Tx) error {
		m, err := memberByID(ctx, tx, at, id)
		if err != nil {
			return err
		}
		found = Profile{Member: m}
		org := m.Organization
		var errs [5]error
		found.Addresses, errs[0] = tx.Addresses().List(ctx, org, id, 0, MaxShown)
		found.Assignments, errs[1] = tx.Assignments().OfMember(ctx, org, id, MaxShown)
		found.Lists, errs[2] = tx.Lists().OfMember(ctx, org, id, MaxShown)
		found.Registrations, errs[3] = tx.Applications().OfMember(ctx, org, id, MaxShown)
		found.Projects, errs[4] = projectsOf(ctx, tx, org)
		return errors.Join(errs[:]...)
	})
	return found, err
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

// SetLocked locks a member in the organization or lifts the lock; repeating it changes nothing. users.ErrNotFound.
func (p *Profiles) SetLocked(ctx context.Context, by audit.Actor, at Path, id users.MemberID, locked bool) error {
	return p.store.Update(ctx, func(tx ports.Tx) error {
		m, err := memberByID(ctx, tx, at, id)
		if err != nil || m.Locked == locked {
			return err
		}
		before := m.Locked
		m.Locked = locked
		if err := tx.Users().SetLocked(ctx, m); err != nil {
			return err
		}
		return p.record(ctx, tx, m, by, audit.MemberLocked, memberPath(at, m), "locked", before, locked)
	})
}

// SetMembershipLocked locks what an application records about a member or lifts the lock (contract 2.6), whether the member is registered or
// not; repeating it changes nothing. users.ErrNotFound, applications.ErrNotFound.
func (p *Profiles) SetMembershipLocked(ctx context.Context, by audit.Actor, at Path, id users.MemberID, locked bool) error {
	return p.store.Update(ctx, func(tx ports.Tx) error {
		m, app, ms, _, err := membership(ctx, tx, at, id)
		if err != nil || ms.Locked == locked {
			return err
		}
		if err := tx.Applications().SetLocked(ctx, app, id, locked); err != nil {
			return err
		}
		return p.record(ctx, tx, m, by, audit.MembershipLocked, membershipPath(at, m), "locked", ms.Locked, locked)
	})
}

// SetNotifications says whether an application may notify a registered member at all; repeating it changes nothing.
// users.ErrNotFound, applications.ErrNotFound, applications.ErrMembershipNotFound.
func (p *Profiles) SetNotifications(ctx context.Context, by audit.Actor, at Path, id users.MemberID, enabled bool) error {
	return p.store.Update(ctx, func(tx ports.Tx) error {
		m, app, ms, registered, err := membership(ctx, tx, at, id)
		switch {
		case err != nil:
			return err
		case !registered:
			return applications.ErrMembershipNotFound
		case ms.EnableNotifications == enabled:
			return nil
		}
		before := ms.EnableNotifications
		ms.EnableNotifications = enabled
		if err := tx.Applications().SaveMemberships(ctx, app, []applications.Membership{ms}); err != nil {
			return err
		}
		return p.record(ctx, tx, m, by, audit.NotificationsEnabled, membershipPath(at, m), "enable_notifications", before, enabled)
	})
}

// record notes a flag of a member that has changed.
func (p *Profiles) record(ctx context.Context, tx ports.Tx, m users.Member, by audit.Actor, a audit.Action, object, flag string, before, after bool) error {
	return tx.Audit().Record(ctx, audit.Entry{Organization: m.Organization, Actor: by, At: p.clock.Now(), Action: a, Object: object,
		Before: audit.State{flag: before}, After: audit.State{flag: after}})
}

func memberPath(at Path, m users.Member) string {
	return Path{Organization: at.Organization}.object("u", m.User.Username)
}

func membershipPath(at Path, m users.Member) string { return at.object("u", m.User.Username) }

func memberByID(ctx context.Context, tx ports.Tx, at Path, id users.MemberID) (users.Member, error) {
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	if err != nil {
		return users.Member{}, err
	}
	return tx.Users().ByID(ctx, org.ID, id)
}

// membership is what the path's application records about a member of the path's organization.
func membership(
	ctx context.Context, tx ports.Tx, at Path, id users.MemberID,
) (m users.Member, app applications.Application, ms applications.Membership, registered bool, err error) {
	if app, err = application(ctx, tx, at); err != nil {
		return m, app, ms, false, err
	}
	if m, err = tx.Users().ByID(ctx, app.Organization, id); err != nil {
		return m, app, ms, false, err
	}
	all, exist, err := tx.Applications().Memberships(ctx, app, []users.MemberID{id})
	if err != nil {
		return m, app, ms, false, err
	}
	return m, app, all[0], exist[0], nil
}
