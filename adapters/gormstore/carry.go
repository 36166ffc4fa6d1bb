package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/tocsin/tocsin/adapters/gormstore/rows"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/ports"
)

var _ ports.Carrier = (*Store)(nil)

// Version returns the newest migration that was applied.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	if err := s.Ready(ctx); err != nil {
		return 0, err
	}
	all, err := s.Status(ctx)
	for _, m := range slices.Backward(all) {
		return m.Version, err
	}
	return 0, err
}

// ReadTables runs fn on one consistent snapshot.
func (s *Store) ReadTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return s.call(func() error {
		return s.engine.view(paced(ctx, paceUnlimited), func(t tx) error {
			r, err := t.rows(ctx)
			if err != nil {
				return err
			}
			return fn(carried{r, t}, t)
		})
	})
}

// WriteTables runs fn as a unit of work, which others wait for on SQLite.
func (s *Store) WriteTables(ctx context.Context, fn func(ports.Tables, ports.Tx) error) error {
	return s.call(func() error {
		return s.engine.work(paced(ctx, paceUnlimited), func(t tx) error {
			r, err := t.rows(ctx)
			if err != nil {
				return err
			}
			return fn(carried{r, t}, t)
		})
	})
}

// carried is what a unit holds, row by row.
type carried struct {
	*rows.Rows
	unit tx
}

// Insert adds rows. Postgres takes them as a stream: so many values in a statement cost it more to
// read than to write.
func (c carried) Insert(ctx context.Context, t ports.Table, all [][]any) error {
	conn, streams := c.unit.session.Statement.ConnPool.(session)
	if !streams {
		return c.Rows.Insert(ctx, t, all)
	}
	columns := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		columns[i] = column.Name
	}
	err := conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.Name}, columns, pgx.CopyFromRows(all))
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", t.Name, err)
	}
	return nil
}

// Sending counts deliveries under a lease.
func (c carried) Sending(ctx context.Context) (n int64, err error) {
	err = c.unit.db(ctx).Raw("SELECT COUNT(*) FROM deliveries WHERE state = ? AND next_at > ?", number(deliveries.Sending), c.unit.clock()).Scan(&n).Error
	return n, err
}

// rows are those of the unit's database.
func (t tx) rows(ctx context.Context) (*rows.Rows, error) {
	return rows.Of(ctx, unhurried{t}, t.dialect == onPostgres)
}

// unhurried runs the statements of a unit, which may take as long as they take.
type unhurried struct{ tx }

// ExecContext runs a statement without a result.
func (u unhurried) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return u.session.Statement.ConnPool.ExecContext(paced(u.lasting(ctx), paceUnlimited), query, args...)
}

// QueryContext runs a query.
func (u unhurried) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return u.session.Statement.ConnPool.QueryContext(paced(u.lasting(ctx), paceUnlimited), query, args...)
}
