package app

import (
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
)

// oneMore refuses what was made when the organization at work has more of that than a quota allows.
func (a *applying) oneMore(n quotas.Name) error { return WithinQuota(a.ctx, a.tx, a.limits, a.org, n) }

// quotas gives an organization exactly these quotas of its own and reports whether they were others
// before. nil leaves them as they are.
func (a *applying) quotas(org orgs.Organization, want quotas.Limits) (changed bool, err error) {
	if want == nil {
		return false, nil
	}
	was, err := a.tx.Orgs().Quotas(a.ctx, org.ID)
	if err != nil || maps.Equal(was, want) {
		return false, err
	}
	a.updated(audit.OrganizationUpdated, org.Slug, audit.State{"quotas": was}, audit.State{"quotas": want})
	return true, a.tx.Orgs().SetQuotas(a.ctx, org.ID, want)
}

// region stores the region of phone numbers without country code and reports whether it was another
// one before. nil leaves it as it is.
func (a *applying) region(org orgs.Organization, want *string) (changed bool, err error) {
	if want == nil {
		return false, nil
	}
	region, err := orgs.ParseRegion("default_region", *want)
	if err != nil || org.Region == region {
		return false, err
	}
	a.updated(audit.OrganizationUpdated, org.Slug, regionState(org.Region), regionState(region))
	return true, a.tx.Orgs().SetRegion(a.ctx, org.ID, region)
}

// searchable stores the paths of metadata that people are found by and reports whether they were
// others before. nil leaves them as they are.
func (a *applying) searchable(org orgs.Organization, want *[]string) (changed bool, err error) {
	if want == nil {
		return false, nil
	}
	paths, err := orgs.ParseSearchable("searchable_metadata", *want)
	if err != nil || slices.Equal(org.Searchable, paths) {
		return false, err
	}
	a.updated(audit.OrganizationUpdated, org.Slug, searchableState(org.Searchable), searchableState(paths))
	return true, a.tx.Orgs().SetSearchable(a.ctx, org.ID, paths)
}

// factor makes an organization require a second factor or not, and reports whether it was otherwise
// before. nil leaves it as it is.
func (a *applying) factor(org orgs.Organization, want *bool) (changed bool, err error) {
	if want == nil || org.RequiresFactor == *want {
		return false, nil
	}
	a.updated(audit.OrganizationUpdated, org.Slug, factorState(!*want), factorState(*want))
	return true, a.tx.Orgs().RequireFactor(a.ctx, org.ID, *want)
}
