package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm/clause"
)

// setConn runs statements on sets of rows on one connection. The first parameters of a statement
// are the columns of its set: on Postgres an array each, on SQLite one JSON text.
type setConn struct {
	conn interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	dialect dialect
}

func (c setConn) exec(ctx context.Context, statement string, columns, args []any) error {
	_, err := c.conn.ExecContext(ctx, statement, c.parameters(columns, args)...)
	return err
}

// query calls row for every row of the result.
func (c setConn) query(ctx context.Context, statement string, columns, args []any, row func(*sql.Rows) error) (err error) {
	rows, err := c.conn.QueryContext(ctx, statement, c.parameters(columns, args)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// parameters returns the columns of a set followed by the other parameters.
func (c setConn) parameters(columns, args []any) []any {
	if c.dialect == onPostgres {
		return append(slices.Clone(columns), args...)
	}
	if len(columns) == 0 {
		return args
	}
	return append([]any{jsonRows(columns)}, args...)
}

// jsonRows encodes columns of equal length as a JSON array of rows; a single column as an array of
// values.
func jsonRows(columns []any) string {
	n := 0
	var values []func(b []byte, i int) []byte
	for _, column := range columns {
		switch column := column.(type) {
		case []string:
			n = len(column)
			values = append(values, func(b []byte, i int) []byte { return appendJSON(b, column[i]) })
		case []int64:
			n = len(column)
			values = append(values, func(b []byte, i int) []byte { return strconv.AppendInt(b, column[i], 10) })
		}
	}
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if len(values) > 1 {
			b = append(b, '[')
		}
		for j, value := range values {
			if j > 0 {
				b = append(b, ',')
			}
			b = value(b, i)
		}
		if len(values) > 1 {
			b = append(b, ']')
		}
	}
	return string(append(b, ']'))
}

// appendJSON appends a text as JSON. Most texts need no escapes, and then this is much faster than
// encoding/json.
func appendJSON(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return append(append(append(b, '"'), s...), '"')
	}
	text, _ := json.Marshal(s) //nolint:errchkjson // Every text can be encoded.
	return append(b, text...)
}

// parameter returns the n-th placeholder, from 1.
func (d dialect) parameter(n int) string {
	if d == onPostgres {
		return "$" + strconv.Itoa(n)
	}
	return "?" + strconv.Itoa(n)
}

// setColumn is a column of a set.
type setColumn struct {
	name   string
	values any // []string or []int64
}

// sqlType is the type of the column on Postgres.
func (c setColumn) sqlType() string {
	if _, numbers := c.values.([]int64); numbers {
		return "bigint"
	}
	return "text"
}

// columnSet is a set of rows as the first parameters of a statement.
type columnSet struct {
	dialect dialect
	from    string // the set, as s
	columns []setColumn
}

// columnsOf returns a set of these columns.
func columnsOf(d dialect, columns ...setColumn) columnSet {
	s := columnSet{dialect: d, columns: columns}
	if d != onPostgres {
		s.from = "(" + s.selectFrom("?1") + ") AS s"
		return s
	}
	arrays := make([]string, len(columns))
	for i, c := range columns {
		arrays[i] = d.parameter(i+1) + "::" + c.sqlType() + "[]"
	}
	s.from = "unnest(" + strings.Join(arrays, ", ") + ") AS s (" + strings.Join(s.names(), ", ") + ")"
	return s
}

// expression returns the set as one parameter for GORM: `FROM (?) AS s`.
func (s columnSet) expression() clause.Expr {
	return clause.Expr{SQL: s.selectFrom("?"), Vars: []any{jsonRows(s.values())}}
}

// selectFrom selects the set from a JSON text. On SQLite, jsonb_each spares a set of several
// columns parsing each value once for each column.
func (s columnSet) selectFrom(parameter string) string {
	if s.dialect != onPostgres && len(s.columns) == 1 {
		return "SELECT value AS " + s.columns[0].name + " FROM json_each(" + parameter + ")"
	}
	picked := make([]string, len(s.columns))
	for i, c := range s.columns {
		value := "value->>" + strconv.Itoa(i)
		if s.dialect == onPostgres {
			value = "(" + value + ")::" + c.sqlType()
		}
		picked[i] = value + " AS " + c.name
	}
	each := "jsonb_each(" + parameter + ")"
	if s.dialect == onPostgres {
		each = "json_array_elements(" + parameter + "::json)"
	}
	return "SELECT " + strings.Join(picked, ", ") + " FROM " + each
}

// names returns the names of the columns.
func (s columnSet) names() []string {
	return mapped(s.columns, func(c setColumn) string { return c.name })
}

// values returns the values of the columns.
func (s columnSet) values() []any {
	return mapped(s.columns, func(c setColumn) any { return c.values })
}

// arg returns the n-th placeholder after those of the set, from 1.
func (s columnSet) arg(n int) string {
	if s.dialect == onPostgres {
		return s.dialect.parameter(len(s.columns) + n)
	}
	return s.dialect.parameter(1 + n)
}

// joinTable joins a table by one look-up for each row before it. The planner cannot reorder it:
// Postgres does not flatten a subquery with OFFSET 0, and SQLite keeps the order of a CROSS JOIN.
// With outer, rows without a match stay.
func (s columnSet) joinTable(outer bool, columns, table, alias, condition string) string {
	kind := map[bool]string{true: " LEFT", false: ""}[outer]
	if s.dialect == onPostgres {
		return kind + " JOIN LATERAL (SELECT " + columns + " FROM " + table + " AS " + alias +
			" WHERE " + condition + " OFFSET 0) AS " + alias + " ON TRUE"
	}
	if !outer {
		kind = " CROSS"
	}
	return kind + " JOIN " + table + " AS " + alias + " ON " + condition
}
