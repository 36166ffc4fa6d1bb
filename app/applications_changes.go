package app

import (
	"context"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Create stores a new application of the path's project; orgs.ErrProjectNotFound,
// applications.ErrSlugTaken, *quotas.Exceeded.
func (a *Applications) Create(ctx context.Context, by audit.Actor, at Path, app applications.Application) (applications.Application, error) {
	return updateAt(ctx, a.store, at, project, func(tx ports.Tx, project orgs.Project) (applications.Application, error) {
		if err := tx.Orgs().Revise(ctx, project.Organization); err != nil {
			return applications.Application{}, err
		}
		app.Organization, app.Project = project.Organization, project.ID
		return createApplication(ctx, tx, by, a.limits, at, app)
	})
}

// createApplication stores a new application of the path's project; applications.ErrSlugTaken,
// *quotas.Exceeded.
func createApplication(
	ctx context.Context, tx ports.Tx, by audit.Actor, limits *quotas.Defaults, at Path, app applications.Application,
) (applications.Application, error) {
	made, err := tx.Applications().Create(ctx, app)
	if err != nil {
		return made, fieldOf("slug", applications.ErrSlugTaken, err)
	}
	if err := WithinQuota(ctx, tx, limits, made.Organization, quotas.Applications); err != nil {
		return made, err
	}
	at.Application = made.Slug
	return made, record(ctx, tx, by, made.Organization, audit.ApplicationCreated, at.Object(), nil, applicationState(made))
}

// Change sets an application's name and whether it is active. It is refused if it changes anything
// and outdated reports true about the stored application; applications.ErrNotFound, ErrOutdated.
func (a *Applications) Change(
	ctx context.Context, by audit.Actor, at Path, name string, active bool, outdated func(applications.Application) bool,
) error {
	_, err := a.patch(ctx, by, at, &name, &active, outdated)
	return err
}

// Patch is Change for the fields that are not nil, of any stored application.
func (a *Applications) Patch(ctx context.Context, by audit.Actor, at Path, name *string, active *bool) (applications.Application, error) {
	return a.patch(ctx, by, at, name, active, func(applications.Application) bool { return false })
}

func (a *Applications) patch(
	ctx context.Context, by audit.Actor, at Path, name *string, active *bool, outdated func(applications.Application) bool,
) (is applications.Application, err error) {
	var label string
	if name != nil {
		if label, err = names.Label("name", *name); err != nil {
			return is, err
		}
	}
	return updateAt(ctx, a.store, at, revisedApplication, func(tx ports.Tx, was applications.Application) (is applications.Application, err error) {
		is = was
		if name != nil {
			is.Name = label
		}
		if active != nil {
			is.Active = *active
		}
		if is == was {
			return is, nil
		}
		if outdated(was) {
			return is, ErrOutdated
		}
		return is, saveApplication(ctx, tx, by, at, was, is)
	})
}

func saveApplication(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, was, is applications.Application) error {
	if err := tx.Applications().Save(ctx, is); err != nil {
		return err
	}
	before, after := audit.Changed(applicationState(was), applicationState(is))
	return record(ctx, tx, by, is.Organization, audit.ApplicationUpdated, at.Object(), before, after)
}

// Delete removes an application; applications.ErrNotFound, and applications.ErrInUse, naming what
// uses it.
func (a *Applications) Delete(ctx context.Context, by audit.Actor, at Path) error {
	return changeAt(ctx, a.store, at, revisedApplication, func(tx ports.Tx, app applications.Application) error {
		return deleteApplication(ctx, tx, by, at, app)
	})
}

func deleteApplication(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, app applications.Application) error {
	if err := tx.Applications().Delete(ctx, app); err != nil {
		return err
	}
	return record(ctx, tx, by, app.Organization, audit.ApplicationDeleted, at.Object(), applicationState(app), nil)
}

// revisedApplication finds an application in a unit of work that changes its organization's
// structure.
func revisedApplication(ctx context.Context, tx ports.Tx, at Path) (applications.Application, error) {
	found, err := application(ctx, tx, at)
	if err != nil {
		return applications.Application{}, err
	}
	if err := tx.Orgs().Revise(ctx, found.Organization); err != nil {
		return applications.Application{}, err
	}
	return application(ctx, tx, at)
}

// MembershipReport is a member with the member's membership of an application. Registered is false
// if the member is not registered; then only a lock may be recorded.
type MembershipReport struct {
	Application applications.Application
	Member      users.Member
	Membership  applications.Membership
	Registered  bool
}

// FoundMemberships is a batch of members that are registered with an application; see users.Found.
type FoundMemberships struct {
	Memberships []MembershipReport
	Next        users.Cursor
	More        bool
}

// Members returns a batch of the members registered with the path's application who match the
// query; applications.ErrNotFound.
func (a *Applications) Members(ctx context.Context, at Path, q users.Query) (FoundMemberships, error) {
	return viewAt(ctx, a.store, at, application, func(tx ports.Tx, app applications.Application) (found FoundMemberships, err error) {
		q.Application = int64(app.ID)
		members, err := tx.Users().Search(ctx, app.Organization, q.Trimmed())
		if err != nil {
			return found, err
		}
		ids := make([]users.MemberID, len(members.Members))
		for i, m := range members.Members {
			ids[i] = m.ID
		}
		memberships, _, err := tx.Applications().Memberships(ctx, app, ids)
		if err != nil {
			return found, err
		}
		found = FoundMemberships{Next: members.Next, More: members.More}
		for i, m := range members.Members {
			found.Memberships = append(found.Memberships, MembershipReport{Application: app, Member: m, Membership: memberships[i], Registered: true})
		}
		return found, nil
	})
}

// UnregisterMember deletes a member's membership of the application, like Unregister; a member who
// is not registered is left alone. operators.ErrHigherRole, users.ErrNotFound,
// applications.ErrNotFound.
func (a *Applications) UnregisterMember(ctx context.Context, by operators.Editor, at Path, id users.MemberID) error {
	return changeAt(ctx, a.store, at, bind(membership, id), func(tx ports.Tx, was MembershipReport) error {
		if !was.Registered {
			return nil
		}
		if err := by.MayChange(was.Member); err != nil {
			return err
		}
		if _, err := tx.Applications().Unregister(ctx, was.Application, was.Member.ID); err != nil {
			return err
		}
		return record(ctx, tx, by.Actor, was.Member.Organization, audit.Unregistered, membershipPath(at, was.Member), membershipState(was.Membership), nil)
	})
}
