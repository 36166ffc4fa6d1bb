package app

import (
	"context"
	"slices"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// counted are the quotas whose use is counted in the database.
var counted = []quotas.Name{quotas.Projects, quotas.Applications, quotas.Events, quotas.Channels, quotas.Lists, quotas.Groups, quotas.Keys, quotas.Imports}

// QuotaUse is an organization's limit of something, and its use.
type QuotaUse struct {
	Name    quotas.Name
	Limit   float64 // 0: no limit
	Used    int64
	Counted bool // else Used is unknown here
}

// Quotas returns the quotas of an organization with their use: the counted ones come first;
// orgs.ErrNotFound.
func (o *Orgs) Quotas(ctx context.Context, at Path) ([]QuotaUse, error) {
	return viewAt(ctx, o.store, at, organization, func(tx ports.Tx, org orgs.Organization) (all []QuotaUse, err error) {
		own, err := tx.Orgs().Quotas(ctx, org.ID)
		if err != nil {
			return all, err
		}
		limits := o.limits.With(own)
		for _, n := range counted {
			used, err := tx.Orgs().Count(ctx, org.ID, n)
			if err != nil {
				return all, err
			}
			all = append(all, QuotaUse{Name: n, Limit: limits[n], Used: used, Counted: true})
		}
		for _, n := range quotas.Names() {
			if !slices.Contains(counted, n) {
				all = append(all, QuotaUse{Name: n, Limit: limits[n]})
			}
		}
		return all, nil
	})
}
