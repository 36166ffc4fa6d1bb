package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// thisInstallation stands for the installation in lists of organizations that require a second
// factor.
var thisInstallation = orgs.Organization{Name: "This installation"}

// Require makes an organization require a second factor of every member with a role there, or stop
// requiring it; repeating it changes nothing. orgs.ErrNotFound.
func (f *Factors) Require(ctx context.Context, by audit.Actor, at Path, on bool) error {
	return changeAt(ctx, f.store, at, organization, func(tx ports.Tx, org orgs.Organization) error {
		if org.RequiresFactor == on {
			return nil
		}
		if err := tx.Orgs().RequireFactor(ctx, org.ID, on); err != nil {
			return err
		}
		return record(ctx, tx, by, org.ID, audit.OrganizationUpdated, Path{Organization: org.Slug}.Object(), factorState(!on), factorState(on))
	})
}

// SetupRequired reports whether a rule stops the signed-in user, because a second factor is
// required and they have none. slug is the organization of the rule. An unknown one requires
// nothing.
func (f *Factors) SetupRequired(ctx context.Context, v operators.Principal, r operators.FactorRule, slug string) (owed bool, err error) {
	switch r {
	case operators.NoFactor:
		return false, nil
	case operators.InstallationFactor:
		all, err := f.RequiringSetup(ctx, v, thisInstallation)
		return len(all) > 0, err
	case operators.OrganizationFactor:
	}
	org, err := f.organization(ctx, v, slug)
	if errors.Is(err, orgs.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	all, err := f.RequiringSetup(ctx, v, org)
	return len(all) > 0, err
}

// organization finds an organization that the signed-in user may open; orgs.ErrNotFound.
func (f *Factors) organization(ctx context.Context, v operators.Principal, slug string) (orgs.Organization, error) {
	if !v.May(slug, operators.Viewer) {
		return orgs.Organization{}, orgs.ErrNotFound
	}
	if org, found := v.Organization(slug); found {
		return org, nil
	}
	return ports.View(ctx, f.store, func(tx ports.Tx) (orgs.Organization, error) {
		return tx.Orgs().BySlug(ctx, slug)
	})
}

// RequiringSetup returns those of some organizations that require a second factor of a signed-in
// user who has none. The installation's rule for its administrators holds in every organization.
func (f *Factors) RequiringSetup(ctx context.Context, v operators.Principal, of ...orgs.Organization) (all []orgs.Organization, err error) {
	for _, o := range of {
		if o.RequiresFactor || (f.required && v.Administrator) {
			all = append(all, o)
		}
	}
	if len(all) == 0 || v.Method == operators.BySingleSignOn { // The identity provider has applied its own rules.
		return nil, nil
	}
	held, err := ports.View(ctx, f.store, func(tx ports.Tx) (factors.Enabled, error) {
		return tx.Factors().Enabled(ctx, v.Account)
	})
	if err != nil || held.Any() {
		return nil, err
	}
	return all, nil
}

// RequiringSetupNames returns the names of all that require a second factor of a signed-in user who
// has none: the installation, the organizations in which they have a role, and the one with this
// slug, from which they came.
func (f *Factors) RequiringSetupNames(ctx context.Context, v operators.Principal, slug string) (names []string, err error) {
	of := []orgs.Organization{thisInstallation}
	for _, p := range v.Visible() {
		of = append(of, p.Organization)
	}
	from, err := f.organization(ctx, v, slug)
	if err != nil && !errors.Is(err, orgs.ErrNotFound) {
		return nil, err
	}
	if err == nil && !slices.ContainsFunc(of, func(o orgs.Organization) bool { return o.ID == from.ID }) {
		of = append(of, from)
	}
	all, err := f.RequiringSetup(ctx, v, of...)
	for _, o := range all {
		names = append(names, o.Name)
	}
	return names, err
}

// checkRequired refuses to remove the last factor of an account while one is required of its
// holder; factors.ErrRequired.
func (f *Factors) checkRequired(account operators.AccountAccess) error {
	by := ""
	if f.required && account.Administrator {
		by = thisInstallation.Name
	}
	for _, p := range account.Organizations {
		if p.HasRole() && p.Organization.RequiresFactor {
			by = p.Organization.Name
		}
	}
	if by == "" {
		return nil
	}
	return factors.ErrRequired.With("%s requires a second factor: set up another one before you remove this one", by)
}
