package gormstore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// errNotBegun is the error of a statement whose transaction does not exist on the server. The
// statement must not run outside of it.
var errNotBegun = errors.New("the transaction was not begun, or has ended")

// pipelineConnector opens connections that send pending statements together with the next one, in
// one round trip.
type pipelineConnector struct{ driver.Connector }

// Connect returns a connection.
func (p pipelineConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pipelineConn{Conn: c.(*stdlib.Conn)}, nil
}

// pendingStatements are statements of a transaction that wait for its next one.
type pendingStatements struct {
	statements pgx.Batch
	beginCount int  // how many of them begin the transaction
	begun      bool // the statements that begin the transaction were sent
}

// pipelineConn is a connection of pipelineConnector.
type pipelineConn struct {
	*stdlib.Conn

	pending *pendingStatements // nil outside of a session
}

var (
	_ driver.ExecerContext  = (*pipelineConn)(nil)
	_ driver.QueryerContext = (*pipelineConn)(nil)
)

// inTransaction reports whether the server is in a transaction.
func (c *pipelineConn) inTransaction() bool { return c.Conn.Conn().PgConn().TxStatus() != 'I' }

// takePending removes and returns the pending statements, if any.
func (c *pipelineConn) takePending() (pgx.Batch, error) {
	w := c.pending
	switch {
	case w == nil:
		return pgx.Batch{}, nil
	case w.begun && !c.inTransaction() && !c.Conn.Conn().IsClosed():
		return pgx.Batch{}, errNotBegun
	}
	batch := w.statements
	w.begun, w.statements = true, pgx.Batch{}
	return batch, nil
}

// flush sends the pending statements.
func (c *pipelineConn) flush(ctx context.Context) error {
	batch, err := c.takePending()
	if err != nil || batch.Len() == 0 {
		return err
	}
	return c.Conn.Conn().SendBatch(ctx, &batch).Close()
}

// send sends the pending statements and a further one, and returns the results of that one. If none
// is pending it sends nothing and returns nil.
func (c *pipelineConn) send(ctx context.Context, query string, args []driver.NamedValue) (pgx.BatchResults, error) {
	batch, err := c.takePending()
	if err != nil || batch.Len() == 0 {
		return nil, err
	}
	before, values := batch.Len(), make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	batch.Queue(query, values...)
	results := c.Conn.Conn().SendBatch(ctx, &batch)
	for range before {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // It returns the same error.
			return nil, err
		}
	}
	return results, nil
}

// ExecContext runs a statement without a result.
func (c *pipelineConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	results, err := c.send(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if results == nil {
		return c.Conn.ExecContext(ctx, query, args)
	}
	tag, _ := results.Exec()
	if err := results.Close(); err != nil { // It returns the error of Exec as well.
		return nil, err
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}

// QueryContext runs a query.
func (c *pipelineConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	results, err := c.send(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if results == nil {
		return c.Conn.QueryContext(ctx, query, args)
	}
	rows, _ := results.Query()
	r := &pipelineRows{results: results, rows: rows, types: c.Conn.Conn().TypeMap()}
	r.peeked, r.hasNext = true, rows.Next() // The columns are known only then.
	if err := rows.Err(); err != nil {
		_ = r.Close() // It returns the same error.
		return nil, err
	}
	return r, nil
}

// pipelineRows are the rows of a query that was sent together with pending statements.
type pipelineRows struct {
	results pgx.BatchResults
	rows    pgx.Rows
	types   *pgtype.Map
	peeked  bool // the next row was already read
	hasNext bool // whether it exists
}

// Columns returns the names of the columns.
func (r *pipelineRows) Columns() []string {
	return mapped(r.rows.FieldDescriptions(), func(f pgconn.FieldDescription) string { return f.Name })
}

// Next reads a row.
func (r *pipelineRows) Next(to []driver.Value) error {
	if !r.peeked {
		r.hasNext = r.rows.Next()
	}
	r.peeked = false
	if !r.hasNext {
		return cmp.Or(r.rows.Err(), io.EOF)
	}
	fields := r.rows.FieldDescriptions()
	for i, src := range r.rows.RawValues() {
		var err error
		if to[i] = nil; src == nil {
			continue
		}
		if to[i], err = r.value(fields[i], src); err != nil {
			return fmt.Errorf("read column %s: %w", fields[i].Name, err)
		}
	}
	return nil
}

// value decodes a value that is not NULL in the way of database/sql: an array is a text.
func (r *pipelineRows) value(f pgconn.FieldDescription, src []byte) (driver.Value, error) {
	t, known := r.types.TypeForOID(f.DataTypeOID)
	if !known {
		return string(src), nil
	}
	if _, list := t.Codec.(*pgtype.ArrayCodec); list {
		values, err := t.Codec.DecodeValue(r.types, f.DataTypeOID, f.Format, src)
		if err != nil {
			return nil, err
		}
		text, err := r.types.Encode(f.DataTypeOID, pgtype.TextFormatCode, values, nil)
		return string(text), err
	}
	return t.Codec.DecodeDatabaseSQLValue(r.types, f.DataTypeOID, f.Format, src)
}

// Close closes the query.
func (r *pipelineRows) Close() error {
	r.rows.Close()
	return r.results.Close()
}
