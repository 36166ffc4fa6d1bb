package gormstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
)

type auditRow struct {
	ID             audit.ID
	OrganizationID *orgs.ID
	Actor          string
	APIKeyID       *access.ID `gorm:"column:api_key_id"`
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
	e := audit.Entry{ID: r.ID, Organization: orZero(r.OrganizationID), Actor: audit.Actor{Name: r.Actor, Key: orZero(r.APIKeyID), Address: r.RemoteAddress, Via: r.Via},
		At: r.CreatedAt.UTC(), Action: r.Action, Object: r.Object}
	if err := errors.Join(json.Unmarshal([]byte(r.BeforeState), &e.Before), json.Unmarshal([]byte(r.AfterState), &e.After)); err != nil {
		return audit.Entry{}, unreadable(err, "states of audit entry %d", r.ID)
	}
	return e, nil
}

type auditRepo struct{ tx }

const auditColumns = "organization_id, actor, api_key_id, remote_address, via, created_at, action, object, before_state, after_state"

// addEntriesOnSQLite and addEntriesOnPostgres insert entries. Their parameters are the columns of
// the entries. The id 0 means none.
const (
	addEntriesOnSQLite = `INSERT INTO audit_entries (` + auditColumns + `)
		SELECT NULLIF(value->>0, 0), value->>1, NULLIF(value->>2, 0), value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9
		FROM jsonb_each(?1) ORDER BY key`
	addEntriesOnPostgres = `INSERT INTO audit_entries (` + auditColumns + `)
		SELECT NULLIF(org, 0), actor, NULLIF(api_key, 0), address, via, moment::timestamptz, action, object, before, after
		FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
			WITH ORDINALITY AS s (org, actor, api_key, address, via, moment, action, object, before, after, n) ORDER BY n`
)

// record adds entries with one statement, on a connection with an open transaction.
func record(ctx context.Context, c setConn, now time.Time, es []audit.Entry) error {
	if len(es) == 0 {
		return nil
	}
	befores, afters := make([]string, len(es)), make([]string, len(es))
	for i, e := range es {
		var errBefore, errAfter error
		befores[i], errBefore = e.Before.Text()
		afters[i], errAfter = e.After.Text()
		if err := errors.Join(errBefore, errAfter); err != nil {
			return err
		}
	}
	columns := []any{
		mapped(es, func(e audit.Entry) int64 { return int64(e.Organization) }),
		mapped(es, func(e audit.Entry) string { return e.Actor.Name }),
		mapped(es, func(e audit.Entry) int64 { return int64(e.Actor.Key) }),
		mapped(es, func(e audit.Entry) string { return e.Actor.Address }),
		mapped(es, func(e audit.Entry) string { return string(e.Actor.Via) }),
		mapped(es, func(e audit.Entry) string {
			if e.At.IsZero() {
				return timeText(now)
			}
			return timeText(e.At)
		}),
		mapped(es, func(e audit.Entry) string { return string(e.Action) }),
		mapped(es, func(e audit.Entry) string { return e.Object }),
		befores, afters,
	}
	statement := addEntriesOnSQLite
	if c.dialect == onPostgres {
		statement = addEntriesOnPostgres
	}
	return c.exec(ctx, statement, columns, nil)
}

func (r auditRepo) Record(ctx context.Context, es ...audit.Entry) error {
	return record(deferred(r.statementContext(ctx)), r.sets(), r.now(), es)
}
