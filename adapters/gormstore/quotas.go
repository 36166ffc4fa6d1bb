package gormstore

import (
	"context"
	"encoding/json"

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
	return change(r.db(ctx), orgs.ErrNotFound, "UPDATE organizations SET quotas = ? WHERE id = ? AND "+notSystem, string(text), id)
}

func decodeQuotas(text string) (own quotas.Limits, err error) {
	err = json.Unmarshal([]byte(text), &own)
	return own, err
}
