package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/adapters/gormstore/rows"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

var _ ports.CopyStore = (*Store)(nil)

// Version returns the newest applied migration, also with ports.ErrIncomplete.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	s.schema.Store(nil)
	ready := s.Ready(ctx)
	if ready != nil && !errors.Is(ready, ports.ErrIncomplete) {
		return 0, ready
	}
	all, err := s.Status(ctx)
	if n := len(all); n > 0 {
		version = all[n-1].Version
	}
	return version, errors.Join(err, ready)
}

// errStandby means that the source of a copy is a standby.
var errStandby = fault.New(fault.Invalid, "the source is a standby, which does not have the latest changes; copy from the primary")

// ChangingSince returns when the oldest transaction of another session of Postgres began; zero:
// there is none. The server does not show whether it will change anything, and shows sessions of
// other roles only to members of pg_read_all_stats. On SQLite ChangingSince waits for the end of a
// change instead, because there is only one at a time.
func (s *Store) ChangingSince(ctx context.Context) (began time.Time, err error) {
	err = s.call(func() error {
		if s.engine.dialect() != onPostgres {
			return s.engine.work(ctx, func(tx) error { return nil })
		}
		return s.engine.view(ctx, func(t tx) error {
			var standby bool
			if err := t.db(ctx).Raw("SELECT pg_is_in_recovery()").Scan(&standby).Error; err != nil {
				return err
			}
			if standby {
				return errStandby
			}
			ahead, err := t.skew(ctx)
			if err != nil {
				return err
			}
			err = t.db(ctx).Raw(`SELECT xact_start FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
				AND pid <> pg_backend_pid() AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1`).Scan(&began).Error
			if !began.IsZero() {
				began = began.Add(ahead)
			}
			return err
		})
	})
	return began, err
}

// ReadTables runs fn on one consistent snapshot.
func (s *Store) ReadTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return s.call(func() error {
		return s.engine.view(withTimeoutClass(ctx, timeoutNone), func(t tx) error {
			c, err := s.tableAccess(ctx, t)
			if err != nil {
				return err
			}
			return fn(c, t)
		})
	})
}

// WriteTables runs fn as a unit of work, which blocks other writers on SQLite.
func (s *Store) WriteTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return s.call(func() error {
		return s.engine.work(withTimeoutClass(ctx, timeoutNone), func(t tx) error {
			c, err := s.tableAccess(ctx, t)
			if err != nil {
				return err
			}
			return fn(c, t)
		})
	})
}

// tableAccess returns the tables of a unit. It caches the schema, because Postgres takes longer to
// list the tables than to read a page. Version clears the cache.
func (s *Store) tableAccess(ctx context.Context, t tx) (tableAccess, error) {
	if known := s.schema.Load(); known != nil {
		return tableAccess{known.On(untimed{t}), t}, nil
	}
	r, err := t.rows(ctx)
	if err != nil {
		return tableAccess{}, err
	}
	s.schema.Store(r.On(nil))
	return tableAccess{r, t}, nil
}

// tableAccess reads and writes the rows of all tables within a unit.
type tableAccess struct {
	*rows.Rows
	unit tx
}

// Insert inserts rows. On Postgres it uses COPY: parsing so many values in a statement would take
// longer than writing them.
func (c tableAccess) Insert(ctx context.Context, t ports.Table, all [][]any) error {
	conn, streams := c.unit.session.Statement.ConnPool.(session)
	if !streams {
		return c.Rows.Insert(ctx, t, all)
	}
	columns := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		columns[i] = column.Name
	}
	// An occurrence may not be expanded yet, so that it has no deliveries which would be covered.
	if id, ok := map[string]string{"occurrences": "id", "deliveries": "occurrence_id"}[t.Name]; ok {
		occurrence := slices.Index(columns, id)
		first := slices.MinFunc(all, func(a, b []any) int { return cmp.Compare(a[occurrence].(int64), b[occurrence].(int64)) })
		if err := c.unit.coverOccurrence(ctx, first[occurrence].(int64)); err != nil {
			return err
		}
	}
	if err := conn.copyFrom(ctx, t.Name, columns, all); err != nil {
		return fmt.Errorf("write %s: %w", t.Name, err)
	}
	return nil
}

// Sending counts the deliveries that a worker holds under a lease.
func (c tableAccess) Sending(ctx context.Context) (n int64, err error) {
	err = c.unit.db(ctx).Raw("SELECT COUNT(*) FROM deliveries WHERE state = ? AND next_at > ?", stateNumber(deliveries.Sending), c.unit.clock()).Scan(&n).Error
	return n, err
}

// Organization returns only the rows of one organization, and its number; orgs.ErrNotFound.
func (c tableAccess) Organization(ctx context.Context, slug string) (ports.Tables, int64, error) {
	org, err := orgRepo{c.unit}.BySlug(ctx, slug)
	if err != nil {
		return nil, 0, err
	}
	return c.OrganizationByID(int64(org.ID)), int64(org.ID), nil
}

// OrganizationByID returns only the rows of the organization with this number.
func (c tableAccess) OrganizationByID(organization int64) ports.Tables {
	return tableAccess{c.Part(organization), c.unit}
}

type markRow struct {
	Since     time.Time
	TableName string
	AfterKey  string
	Step      int64
}

// Mark returns the progress of a copy into this database.
func (c tableAccess) Mark(ctx context.Context) (m ports.Mark, err error) {
	found, err := rowsOf[markRow](c.unit.db(ctx).Raw("SELECT since, table_name, after_key, step FROM copies WHERE id = 1"))
	for _, row := range found {
		m = ports.Mark{Since: row.Since.UTC(), Table: row.TableName, After: row.AfterKey, Step: row.Step}
	}
	return m, err
}

// SetMark stores that progress.
func (c tableAccess) SetMark(ctx context.Context, m ports.Mark) error {
	if m.Step > 1 {
		return changed(c.unit.db(ctx).Table("copies").Where("id = 1 AND step = ?", m.Step-1).Select("*").
			Updates(markRow{Since: stamp(m.Since), TableName: m.Table, AfterKey: m.After, Step: m.Step}), ports.ErrOtherCopy)
	}
	err := change(c.unit.db(ctx), ports.ErrOtherCopy, `INSERT INTO copies (id, since, table_name, after_key, step, compatible_from)
		SELECT 1, ?, ?, ?, ?, compatible_from FROM installation WHERE id = 1 ON CONFLICT DO NOTHING`, stamp(m.Since), m.Table, m.After, m.Step)
	if err != nil {
		return err
	}
	return c.unit.db(ctx).Table("installation").Where("id = 1").Update("compatible_from", int64(compatibleNone)).Error
}

// EndMark ends the copy, and lets programs use the database again.
func (c tableAccess) EndMark(ctx context.Context, m ports.Mark) error {
	err := change(c.unit.db(ctx), ports.ErrOtherCopy, `UPDATE installation SET compatible_from = (SELECT compatible_from FROM copies WHERE id = 1)
		WHERE id = 1 AND EXISTS (SELECT 1 FROM copies WHERE id = 1 AND step = ?)`, m.Step)
	if err != nil {
		return err
	}
	return changed(c.unit.db(ctx).Table("copies").Where("id = 1 AND step = ?", m.Step).Delete(&markRow{}), ports.ErrOtherCopy)
}

// rows returns the rows of the unit's database.
func (t tx) rows(ctx context.Context) (*rows.Rows, error) {
	return rows.Of(ctx, untimed{t}, t.dialect == onPostgres)
}

// untimed runs a unit's statements without a timeout.
type untimed struct{ tx }

// ExecContext runs a statement without a result.
func (u untimed) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return u.session.Statement.ConnPool.ExecContext(withTimeoutClass(u.statementContext(ctx), timeoutNone), query, args...)
}

// QueryContext runs a query.
func (u untimed) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return u.session.Statement.ConnPool.QueryContext(withTimeoutClass(u.statementContext(ctx), timeoutNone), query, args...)
}
