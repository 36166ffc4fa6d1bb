package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
)

type auditRow struct {
	ID             audit.ID
	OrganizationID *orgs.ID
	Actor          string
	RemoteAddress  string
	Via            audit.Via
	CreatedAt      time.Time
	Action         audit.Action
	Object         string
	BeforeState    string
	AfterState     string
}

func (auditRow) TableName() string { return "audit_entries" }

func (r auditRow) entry() (audit.Entry, error) {
	e := audit.Entry{ID: r.ID, Organization: orZero(r.OrganizationID), Actor: audit.Actor{Name: r.Actor, Address: r.RemoteAddress, Via: r.Via},
		At: r.CreatedAt.UTC(), Action: r.Action, Object: r.Object}
	if err := errors.Join(json.Unmarshal([]byte(r.BeforeState), &e.Before), json.Unmarshal([]byte(r.AfterState), &e.After)); err != nil {
		return audit.Entry{}, unreadable(err, "states of audit entry %d", r.ID)
	}
	return e, nil
}

type auditRepo struct{ tx }

func (r auditRepo) Record(ctx context.Context, e audit.Entry) error {
	before, errBefore := json.Marshal(e.Before)
	after, errAfter := json.Marshal(e.After)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return err
	}
	row := auditRow{OrganizationID: orNull(e.Organization), Actor: e.Actor.Name, RemoteAddress: e.Actor.Address, Via: e.Actor.Via,
		CreatedAt: orZero(moment(e.At)), Action: e.Action, Object: e.Object, BeforeState: string(before), AfterState: string(after)}
	return r.db(ctx).Create(&row).Error
}

func (r auditRepo) List(ctx context.Context, org orgs.ID, before audit.ID, limit int) ([]audit.Entry, error) {
	q := r.db(ctx).Where("organization_id = ?", org)
	if org == 0 {
		q = r.db(ctx).Where("organization_id IS NULL")
	}
	if before != 0 {
		q = q.Where("id < ?", before)
	}
	rows, err := rowsOf[auditRow](q.Order("id DESC").Limit(limit))
	if err != nil {
		return nil, err
	}
	found := make([]audit.Entry, len(rows))
	for i, row := range rows {
		if found[i], err = row.entry(); err != nil {
			return nil, err
		}
	}
	return found, nil
}
