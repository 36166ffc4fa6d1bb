package gormstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
)

func (r orgRepo) Quotas(ctx context.Context, id orgs.ID) (quotas.Limits, error) {
	return decodeOne(r.db(ctx).Select("quotas").Where("id = ?", id).Where(notSystem), orgs.ErrNotFound,
		func(row organizationRow) (quotas.Limits, error) { return decodeQuotas(row.Quotas) })
}

func (r orgRepo) SetQuotas(ctx context.Context, id orgs.ID, own quotas.Limits) error {
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		text = []byte("{}")
	}
	return changed(r.db(ctx).Model(&organizationRow{}).Where("id = ? AND "+notSystem, id).Update("quotas", string(text)), orgs.ErrNotFound)
}

// counted selects the rows that quotas limit, in the organization @org. The condition of keys keeps
// Postgres from using the index of names, which has the keys of all organizations.
var counted = map[quotas.Name]string{
	quotas.Channels:     "channels WHERE organization_id = @org",
	quotas.Keys:         "api_keys WHERE organization_id = @org AND COALESCE(revoked_at, replaced_at) IS NULL",
	quotas.Lists:        "distribution_lists WHERE organization_id = @org",
	quotas.Groups:       "member_groups WHERE organization_id = @org",
	quotas.Projects:     "projects WHERE organization_id = @org",
	quotas.Applications: "applications WHERE organization_id = @org",
	quotas.Events:       "events e JOIN applications a ON a.id = e.application_id WHERE a.organization_id = @org",
	quotas.Imports:      "imports WHERE organization_id = @org AND stored AND state IN @open",
}

func (r orgRepo) Count(ctx context.Context, id orgs.ID, n quotas.Name) (have int64, err error) {
	from, known := counted[n]
	if !known {
		return 0, fmt.Errorf("nothing is counted for the quota %s", n)
	}
	err = r.db(ctx).Raw("SELECT COUNT(*) FROM "+from, map[string]any{"org": id,
		"open": imports.States(func(s imports.State) bool { return !s.Over() })}).Scan(&have).Error
	return have, err
}

func decodeQuotas(text string) (own quotas.Limits, err error) {
	if err = json.Unmarshal([]byte(text), &own); len(own) == 0 {
		own = nil // This is the usual case.
	}
	return own, err
}
