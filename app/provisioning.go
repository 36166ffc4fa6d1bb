package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// Provisioning brings the store into the state that a blueprint describes: it creates what is
// missing, updates what differs and never deletes.
type Provisioning struct {
	store  ports.Store
	check  ChannelCheck
	limits *quotas.Defaults
	quotas *Quotas
}

// ChannelCheck reports what is wrong with a channel's driver and settings.
type ChannelCheck func(channels.Channel) error

// NewProvisioning returns the use case of declarative provisioning. limits are for organizations
// without limits of their own. quotas limit the dry runs of API keys.
func NewProvisioning(store ports.Store, check ChannelCheck, limits *quotas.Defaults, quotas *Quotas) *Provisioning {
	return &Provisioning{store: store, check: check, limits: limits, quotas: quotas}
}

// Action is what was done to an object.
type Action string

// The actions.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
)

// Applied is the result for one object of a blueprint.
type Applied struct {
	Kind   string // organization, group, channel, project, list, application, event, template or notification
	Path   string // acme/shop/web/order-shipped
	ID     int64
	Action Action
}

var errDryRun = errors.New("dry run")

// Apply applies a blueprint, all or nothing, and returns the results in the blueprint's order. A
// dry run returns the same and changes nothing; ids of objects that it would create are 0 then.
// Faults name the place in the blueprint: `organizations[0].projects[1].lists[0].name`. Channels
// applied by operators of the installation are unrestricted.
func (p *Provisioning) Apply(ctx context.Context, by operators.Editor, b Blueprint, dryRun bool) ([]Applied, error) {
	return p.apply(ctx, by, b, dryRun, false)
}

// ApplyTo is Apply for an API key and the path's organization, which must exist: the blueprint
// describes this one alone, and neither its quotas nor whether it requires a second factor, which
// only users decide. It is written in one unit of work, which blocks others. So it has at most
// MaxBlueprint objects, and its template checks are limited: those of templates that change, and of
// all that use a changed partial. A dry run counts among those of the
// organization, and must not run within a unit of work. orgs.ErrNotFound, *quotas.Exceeded.
func (p *Provisioning) ApplyTo(ctx context.Context, by audit.Actor, at Path, b Blueprint, dryRun bool) ([]Applied, error) {
	done := func(context.Context) {}
	defer func() { done(ctx) }() // after the unit of work: a pause holds no connection
	err := p.store.View(ctx, func(tx ports.Tx) error {
		org, err := tx.Orgs().BySlug(ctx, at.Organization)
		if err != nil || !dryRun {
			return err
		}
		release, err := p.quotas.dryRun(ctx, tx, org.ID)
		if err == nil {
			done = release
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := b.checkSize(); err != nil {
		return nil, err
	}
	if err := b.checkOnly(at.Organization); err != nil {
		return nil, err
	}
	return p.apply(ctx, operators.Editor{Actor: by, Level: operators.Administrator}, b, dryRun, true)
}

func (p *Provisioning) apply(ctx context.Context, by operators.Editor, b Blueprint, dryRun, exists bool) ([]Applied, error) {
	if err := b.check(p.check); err != nil {
		return nil, err
	}
	done, err := ports.Update(ctx, p.store, func(tx ports.Tx) (done []Applied, err error) {
		log := &deferredLog{Tx: tx, Repository: tx.Audit()}
		a := applier{ctx: ctx, tx: log, by: by.Actor, trusted: by.OfInstallation(), limits: p.limits, exists: exists}
		if exists {
			a.bound.exceeded = errBlueprintChecks
		}
		if err := a.organizations(b); err != nil {
			return done, err
		}
		for _, c := range a.leftPools {
			if err := tx.Channels().PoolKept(ctx, c); err != nil {
				return done, err
			}
		}
		done = a.done
		if dryRun {
			return done, errDryRun
		}
		return done, tx.Audit().Record(ctx, log.entries...)
	})
	if dryRun && errors.Is(err, errDryRun) {
		for i := range done {
			if done[i].Action == Created {
				done[i].ID = 0
			}
		}
		return done, nil
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// applier is the application of one blueprint in one unit of work.
type applier struct {
	ctx  context.Context //nolint:containedctx // It lives exactly as long as the unit of work.
	tx   ports.Tx
	by   audit.Actor
	done []Applied
	// limits are for organizations without limits of their own.
	limits *quotas.Defaults
	// trusted is set for operators of the installation.
	trusted bool
	// exists is set when the organizations must exist already.
	exists bool

	// checker checks templates with the partials of the organization that is being applied; nil:
	// these have not been read yet.
	checker *events.Checker
	bound   checkBound

	// leftPools are the channels that left a pool, as they were before.
	leftPools []channels.Channel
}

func (a *applier) note(kind, path string, id int64, action Action) {
	a.done = append(a.done, Applied{Kind: kind, Path: path, ID: id, Action: action})
}

// at adds the place in the blueprint to a fault that has none yet.
func at(place string, err error) error {
	if err == nil || errors.Is(err, errBlueprintChecks) || fault.KindOf(err) == fault.Internal || fault.KindOf(err) == fault.Unavailable {
		return err
	}
	var faults fault.Fields
	faults.Add(place, err)
	return faults.Err()
}

func join(path ...string) string { return strings.Join(path, "/") }

func index(place, member string, i int) string {
	if place != "" {
		place += "."
	}
	return fmt.Sprintf("%s%s[%d]", place, member, i)
}

func (a *applier) organizations(b Blueprint) error {
	for i, want := range b.Organizations {
		place := index("", "organizations", i)
		org, action, err := a.organization(want)
		if err != nil {
			return at(place, err)
		}
		changed, err := a.quotas(org, want.Quotas)
		if err != nil {
			return err
		}
		other, err := a.factor(org, want.Factor)
		if err != nil {
			return err
		}
		moved, err := a.region(org, want.Region)
		if err != nil {
			return at(place, err)
		}
		found, err := a.searchable(org, want.Searchable)
		if err != nil {
			return at(place, err)
		}
		if (changed || other || moved || found) && action == Unchanged {
			action = Updated
		}
		a.note("organization", org.Slug, int64(org.ID), action)
		if err := a.tx.Orgs().Revise(a.ctx, org.ID); err != nil {
			return err
		}
		where := Path{Organization: org.Slug}
		for n, name := range want.Groups {
			g, created, err := EnsureGroup(a.ctx, a.tx, a.by, a.limits, where, org.ID, name)
			if err != nil {
				return at(index(place, "groups", n), err)
			}
			action := Unchanged
			if created {
				action = Created
			}
			a.note("group", join(org.Slug, g.Name), int64(g.ID), action)
		}
		if err := a.channels(place, where, org.ID, 0, want.Channels); err != nil {
			return err
		}
		a.checker = nil
		check, err := a.partials(place, org, want.Partials)
		if err != nil {
			return err
		}
		for n, project := range want.Projects {
			if err := a.project(index(place, "projects", n), org, project); err != nil {
				return err
			}
		}
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) organization(want BlueprintOrganization) (orgs.Organization, Action, error) {
	was, err := a.tx.Orgs().BySlug(a.ctx, want.Slug)
	switch {
	case errors.Is(err, orgs.ErrNotFound) && !a.exists:
		made, err := createOrganization(a.ctx, a.tx, a.by, orgs.Organization{Slug: want.Slug, Name: want.Name})
		return made, Created, err
	case err != nil:
		return was, Unchanged, err
	}
	is := was
	is.Name = want.Name
	action := Unchanged
	changed, err := saveOrganization(a.ctx, a.tx, a.by, was, is)
	if changed {
		action = Updated
	}
	return is, action, err
}

func (a *applier) project(place string, org orgs.Organization, want BlueprintProject) error {
	where := Path{Organization: org.Slug, Project: want.Slug}
	project, err := project(a.ctx, a.tx, where)
	action := Unchanged
	switch {
	case errors.Is(err, orgs.ErrProjectNotFound):
		action = Created
		project, err = createProject(a.ctx, a.tx, a.by, a.limits, where, orgs.Project{Organization: org.ID, Slug: want.Slug, Name: want.Name})
	case err == nil && project.Name != want.Name:
		action = Updated
		project, err = renameProject(a.ctx, a.tx, a.by, where, project, want.Name)
	}
	if err != nil {
		return at(place, err)
	}
	path := join(org.Slug, project.Slug)
	a.note("project", path, int64(project.ID), action)
	if err := a.channels(place, where, org.ID, project.ID, want.Channels); err != nil {
		return err
	}
	// Applications come before the lists that may be pinned to them, and lists before the
	// notifications that use them.
	apps := make([]applications.Application, len(want.Applications))
	for i, w := range want.Applications {
		if apps[i], err = a.application(index(place, "applications", i), org, project, w); err != nil {
			return err
		}
	}
	for i, w := range want.Lists {
		if err := a.list(index(place, "lists", i), org, project, w); err != nil {
			return err
		}
	}
	for i, w := range want.Applications {
		if err := a.events(index(place, "applications", i), Path{Organization: org.Slug, Project: project.Slug, Application: w.Slug}, apps[i], w.Events); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) application(place string, org orgs.Organization, project orgs.Project, want BlueprintApplication) (applications.Application, error) {
	where := Path{Organization: org.Slug, Project: project.Slug, Application: want.Slug}
	app, err := application(a.ctx, a.tx, where)
	action := Unchanged
	switch {
	case errors.Is(err, applications.ErrNotFound):
		action = Created
		app, err = createApplication(a.ctx, a.tx, a.by, a.limits, where, applications.Application{
			Organization: project.Organization, Project: project.ID, Slug: want.Slug, Name: want.Name, Active: want.Active})
	case err == nil && (app.Name != want.Name || app.Active != want.Active):
		action = Updated
		was := app
		app.Name, app.Active = want.Name, want.Active
		err = saveApplication(a.ctx, a.tx, a.by, where, was, app)
	}
	if err != nil {
		return app, at(place, err)
	}
	a.note("application", join(org.Slug, project.Slug, app.Slug), int64(app.ID), action)
	return app, nil
}
