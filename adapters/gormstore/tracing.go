package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// unit runs a unit of work of some kind in its own span.
func (s *Store) unit(ctx context.Context, kind string, run func(context.Context) error) error {
	if !s.traced {
		return run(ctx)
	}
	ctx, span := ports.BeginSpan(ctx, ports.SpanStart{Name: "transaction"})
	span.Text("tocsin.transaction.kind", kind)
	err := run(ctx)
	// An error of the domain is no failure of the database.
	span.End(err != nil && (fault.KindOf(err) == fault.Internal || fault.KindOf(err) == fault.Unavailable))
	return err
}

// spanned returns the connection of a unit of work. The spans of its statements are children of the
// unit's span.
func spanned(ctx context.Context, conn gorm.ConnPool) gorm.ConnPool {
	if span := ports.SpanOf(ctx); span.Recorded() {
		return spannedConn{conn, span}
	}
	return conn
}

type spannedConn struct {
	gorm.ConnPool

	unit ports.Span
}

// ExecContext runs a statement without a result.
func (c spannedConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return c.ConnPool.ExecContext(ports.WithSpan(ctx, c.unit), query, args...)
}

// QueryContext runs a query.
func (c spannedConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return c.ConnPool.QueryContext(ports.WithSpan(ctx, c.unit), query, args...)
}

// QueryRowContext runs a query for one row.
func (c spannedConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return c.ConnPool.QueryRowContext(ports.WithSpan(ctx, c.unit), query, args...)
}

type statementKey struct{}

// beginStatement starts the span of a statement if its context is traced. The span has the text
// with placeholders, without values.
func beginStatement(ctx context.Context, system, query string) context.Context {
	above := ports.SpanOf(ctx)
	if !above.Recorded() {
		return ctx
	}
	word := operation(query)
	_, span := above.Begin(ctx, ports.SpanStart{Name: word, Kind: ports.SpanClient})
	span.Text("db.system.name", system)
	span.Text("db.operation.name", word)
	span.Text("db.query.text", query)
	return context.WithValue(ctx, statementKey{}, span)
}

// endStatement ends the span of a statement, if it has one.
func endStatement(ctx context.Context, err error) {
	if span, begun := ctx.Value(statementKey{}).(ports.Span); begun {
		span.End(err != nil)
	}
}

type batchKey struct{}

// beginStatements starts the spans of statements that are sent together.
func beginStatements(ctx context.Context, system string, b *pgx.Batch) context.Context {
	var spans []ports.Span
	for _, q := range b.QueuedQueries {
		if span, begun := beginStatement(ctx, system, q.SQL).Value(statementKey{}).(ports.Span); begun {
			spans = append(spans, span)
		}
	}
	return context.WithValue(ctx, batchKey{}, spans)
}

// endStatements ends these spans.
func endStatements(ctx context.Context, err error) {
	spans, _ := ctx.Value(batchKey{}).([]ports.Span)
	for _, span := range spans {
		span.End(err != nil)
	}
}

// operation returns the first word of a statement.
func operation(query string) string {
	query = strings.TrimLeft(query, " \t\n(")
	if end := strings.IndexAny(query, " \t\n(;"); end >= 0 {
		query = query[:end]
	}
	return strings.ToUpper(query)
}

// sqliteConn is a connection to SQLite that creates a span for each statement whose context is
// traced.
type sqliteConn struct {
	*sqlite3.SQLiteConn

	traced bool
}

var (
	_ driver.ExecerContext  = sqliteConn{}
	_ driver.QueryerContext = sqliteConn{}
)

// ExecContext runs a statement without a result.
func (c sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !c.traced {
		return c.SQLiteConn.ExecContext(ctx, query, args)
	}
	ctx = beginStatement(ctx, "sqlite", query)
	result, err := c.SQLiteConn.ExecContext(ctx, query, args)
	endStatement(ctx, err)
	return result, err
}

// QueryContext runs a query. Its span ends with the last row, because SQLite executes the query
// while rows are fetched.
func (c sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !c.traced {
		return c.SQLiteConn.QueryContext(ctx, query, args)
	}
	ctx = beginStatement(ctx, "sqlite", query)
	rows, err := c.SQLiteConn.QueryContext(ctx, query, args)
	if err != nil || ctx.Value(statementKey{}) == nil {
		endStatement(ctx, err)
		return rows, err
	}
	return &sqliteRows{rows.(*sqlite3.SQLiteRows), ctx, nil}, nil
}

// sqliteRows are the rows of a traced statement.
type sqliteRows struct {
	*sqlite3.SQLiteRows

	statement context.Context //nolint:containedctx // The statement's.
	failed    error
}

// Next reads a row.
func (r *sqliteRows) Next(to []driver.Value) error {
	err := r.SQLiteRows.Next(to)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return err
}

// Close ends the statement.
func (r *sqliteRows) Close() error {
	err := r.SQLiteRows.Close()
	endStatement(r.statement, errors.Join(r.failed, err))
	return err
}
