package app

import (
	"maps"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
)

// quotas sets an organization's own quotas to exactly these and reports whether they changed. nil
// leaves them unchanged.
func (a *applier) quotas(org orgs.Organization, want quotas.Limits) (changed bool, err error) {
	if want == nil {
		return false, nil
	}
	was, err := a.tx.Orgs().Quotas(a.ctx, org.ID)
	if err != nil || maps.Equal(was, want) {
		return false, err
	}
	if err := a.tx.Orgs().SetQuotas(a.ctx, org.ID, want); err != nil {
		return false, err
	}
	return true, record(a.ctx, a.tx, a.by, org.ID, audit.OrganizationUpdated, org.Slug, audit.State{"quotas": was}, audit.State{"quotas": want})
}

// region sets the region of phone numbers without country code and reports whether it changed. nil
// leaves it unchanged.
func (a *applier) region(org orgs.Organization, want *string) (changed bool, err error) {
	if want == nil {
		return false, nil
	}
	is := org
	if is.Region, err = orgs.ParseRegion("default_region", *want); err != nil {
		return false, err
	}
	return saveOrganization(a.ctx, a.tx, a.by, org, is)
}

// searchable sets the paths of metadata that the search covers and reports whether they changed.
// nil leaves them unchanged.
func (a *applier) searchable(org orgs.Organization, want *[]string) (changed bool, err error) {
	if want == nil {
		return false, nil
	}
	is := org
	if is.Searchable, err = orgs.ParseSearchable("searchable_metadata", *want); err != nil {
		return false, err
	}
	return saveOrganization(a.ctx, a.tx, a.by, org, is)
}

// factor sets whether an organization requires a second factor, and reports whether that changed.
// nil leaves it unchanged.
func (a *applier) factor(org orgs.Organization, want *bool) (changed bool, err error) {
	if want == nil || org.RequiresFactor == *want {
		return false, nil
	}
	if err := a.tx.Orgs().RequireFactor(a.ctx, org.ID, *want); err != nil {
		return false, err
	}
	return true, record(a.ctx, a.tx, a.by, org.ID, audit.OrganizationUpdated, org.Slug, factorState(!*want), factorState(*want))
}
