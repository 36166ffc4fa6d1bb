package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// session runs the statements of a transaction. It does not pass statements of a cancelled context
// to the driver, because its error would make database/sql close the connection.
type session struct {
	*sql.Conn

	// deferred are the statements that wait for the commit; nil: every statement runs at once.
	deferred *pgx.Batch
}

type lastKey struct{}

// atLast returns the context of a statement on whose result nothing in its unit depends. In work on
// Postgres it is sent together with the statements like it and the commit, in one round trip; locks
// that it takes are held as briefly as possible. Where another statement follows, it runs before
// that one. Elsewhere it runs at once.
func atLast(ctx context.Context) context.Context { return context.WithValue(ctx, lastKey{}, true) }

// defers keeps a statement for later. It reports false if the statement must run at once.
func (s session) defers(ctx context.Context, query string, args []any) bool {
	last, _ := ctx.Value(lastKey{}).(bool)
	if !last || s.deferred == nil {
		return false
	}
	s.deferred.Queue(query, slices.Clone(args)...)
	return true
}

// waits reports whether statements wait for the commit.
func (s session) waits() bool { return s.deferred != nil && s.deferred.Len() > 0 }

// settle runs the statements that wait for the commit, because another one follows.
func (s session) settle(ctx context.Context) error {
	if !s.waits() {
		return nil
	}
	return s.send(ctx)
}

// commit commits the transaction, after the statements that wait for it.
func (s session) commit(ctx context.Context, t pgx.Tx) error {
	if !s.waits() {
		return s.Raw(func(any) error { return t.Commit(ctx) })
	}
	s.deferred.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	return s.send(ctx)
}

func (s session) send(ctx context.Context) error {
	batch := *s.deferred
	*s.deferred = pgx.Batch{}
	return s.Raw(func(c any) error { return c.(*stdlib.Conn).Conn().SendBatch(ctx, &batch).Close() })
}

// ExecContext runs a statement without a result.
func (s session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.defers(ctx, query, args) {
		return driver.RowsAffected(0), nil
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return s.Conn.ExecContext(ctx, query, args...)
}

// QueryContext runs a query.
func (s session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return s.Conn.QueryContext(ctx, query, args...)
}
