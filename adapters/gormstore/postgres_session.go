package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// session runs the statements of a transaction. It sends those that begin the transaction together
// with the first other statement. It does not pass statements with a cancelled context to the
// driver, whose error would make database/sql close the connection.
type session struct {
	*sql.Conn

	pending *pendingStatements
}

type deferredKey struct{}

// deferred returns the context of a statement whose result the unit does not use. On Postgres the
// statement waits for the next one, or for the commit, and is sent with that in one round trip. It
// still runs in its order, and holds its locks as briefly as possible. On SQLite it runs at once.
func deferred(ctx context.Context) context.Context {
	return context.WithValue(ctx, deferredKey{}, true)
}

// begin begins a transaction with these statements.
func begin(conn *sql.Conn, with []string) (session, error) {
	s := session{conn, &pendingStatements{}}
	for _, statement := range with {
		s.pending.statements.Queue(statement)
	}
	s.pending.beginCount = len(with)
	return s, s.raw(func(c *pipelineConn) error {
		c.pending = s.pending
		return nil
	})
}

// raw calls fn with the driver's connection.
func (s session) raw(fn func(*pipelineConn) error) error {
	return s.Raw(func(c any) error { return fn(c.(*pipelineConn)) })
}

// commit sends the pending statements, and commits the transaction.
func (s session) commit(ctx context.Context) error {
	return s.raw(func(c *pipelineConn) error {
		if !s.pending.begun && s.pending.statements.Len() == s.pending.beginCount {
			return nil // It has no statements.
		}
		s.pending.statements.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
			if tag.String() != "COMMIT" {
				return pgx.ErrTxCommitRollback
			}
			return nil
		})
		return c.flush(ctx)
	})
}

// end rolls the transaction back unless it was committed. If that fails, it closes the connection,
// and the server rolls back.
func (s session) end(ctx context.Context) {
	_ = s.raw(func(c *pipelineConn) error {
		c.pending = nil
		if !c.inTransaction() {
			return nil
		}
		_, err := c.Conn.Conn().Exec(ctx, "rollback")
		if err != nil {
			err = c.Conn.Conn().Close(ctx)
		}
		return err
	})
}

// ExecContext runs a statement without a result.
func (s session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if last, _ := ctx.Value(deferredKey{}).(bool); last {
		s.pending.statements.Queue(query, slices.Clone(args)...)
		return driver.RowsAffected(0), nil
	}
	return s.Conn.ExecContext(ctx, query, args...)
}

// QueryContext runs a query.
func (s session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Conn.QueryContext(ctx, query, args...)
}

// copyFrom inserts rows into a table with COPY.
func (s session) copyFrom(ctx context.Context, table string, columns []string, rows [][]any) error {
	return s.raw(func(c *pipelineConn) error {
		if err := c.flush(ctx); err != nil {
			return err
		}
		_, err := c.Conn.Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		return err
	})
}
