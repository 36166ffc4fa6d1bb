// Package rows reads and writes the raw rows of a database, table by table. It reads the tables and
// columns from the database, so that a migration needs no change here. It does not know what the
// rows mean.
package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/ports"
)

// Conn runs statements within a unit of work.
type Conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// uncopiedTables are the tables that are not copied: those of goose, and the state of instances and
// of the installation.
var uncopiedTables = []string{"goose_db_version", "workers", "channel_troubles", "channel_shares", "channel_rates", "installation", "copies"}

// maxParameters is the maximum number of parameters of one statement: SQLite's limit.
const maxParameters = 32_000

// MaxSilence is how long a database may take for the next row. Reading all rows has no other
// deadline.
const MaxSilence = 20 * time.Minute

// errSilent means that a database took longer than that.
var errSilent = errors.New("the database sent no row for too long")

// Rows are the rows of a database.
type Rows struct {
	// Silence is how long the database may take for the next row: MaxSilence, except in tests.
	Silence time.Duration

	conn       Conn
	postgres   bool
	tables     []ports.Table
	references []reference

	organization int64 // the organization of the rows; 0: all
}

// reference is a foreign key.
type reference struct {
	table, parent    string
	columns, parents []string
}

// Of returns the rows of a database.
func Of(ctx context.Context, conn Conn, postgres bool) (*Rows, error) {
	r := &Rows{Silence: MaxSilence, conn: conn, postgres: postgres}
	if err := r.describe(ctx); err != nil {
		return nil, fmt.Errorf("describe the tables: %w", err)
	}
	if err := r.order(); err != nil {
		return nil, err
	}
	return r, nil
}

// On returns the rows in another unit of work, without reading the schema again.
func (r *Rows) On(conn Conn) *Rows {
	return &Rows{Silence: r.Silence, conn: conn, postgres: r.postgres, tables: r.tables, references: r.references}
}

// Tables returns the tables, each after those that it refers to.
func (r *Rows) Tables() []ports.Table { return r.tables }

// Excludes reports whether a table is not copied. A table whose name begins with an underscore
// belongs to a tool, such as Litestream.
func (r *Rows) Excludes(table string) bool {
	return strings.HasPrefix(table, "_") || slices.Contains(uncopiedTables, table)
}

// order sorts tables by name, but each after those that it refers to.
func (r *Rows) order() error {
	waiting := slices.SortedFunc(slices.Values(r.tables), func(a, b ports.Table) int { return strings.Compare(a.Name, b.Name) })
	r.tables = nil
	for len(waiting) > 0 {
		next := slices.IndexFunc(waiting, func(t ports.Table) bool {
			return !slices.ContainsFunc(r.references, func(f reference) bool {
				return f.table == t.Name && f.parent != t.Name && slices.ContainsFunc(waiting, func(w ports.Table) bool { return w.Name == f.parent })
			})
		})
		if next < 0 {
			return errors.New("the tables refer to each other in a circle")
		}
		r.tables = append(r.tables, waiting[next])
		waiting = slices.Delete(waiting, next, next+1)
	}
	return nil
}

// parameter returns the n-th placeholder of a statement, from 1.
func (r *Rows) parameter(n int) string {
	if r.postgres {
		return "$" + strconv.Itoa(n)
	}
	return "?" + strconv.Itoa(n)
}

func quoted(name string) string { return `"` + name + `"` }

func columnsOf(t ports.Table) []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = quoted(c.Name)
	}
	return names
}

// Read calls do for each row after a key, in the order of the key; nil: from the first row on. For
// one organization it ignores the key and reads all its rows, in any order. It keeps no row in
// memory.
func (r *Rows) Read(ctx context.Context, t ports.Table, after []any, do func(row []any) error) error {
	if r.organization != 0 {
		statements, err := r.statements(t)
		if err != nil {
			return err
		}
		for _, statement := range statements {
			if err := r.read(ctx, t, statement, nil, do); err != nil {
				return err
			}
		}
		return nil
	}
	key, parameters := make([]string, len(t.Key)), make([]string, len(after))
	for i, k := range t.Key {
		key[i] = quoted(t.Columns[k].Name)
	}
	for i := range after {
		parameters[i] = r.parameter(i + 1)
	}
	condition := "TRUE"
	if len(after) > 0 {
		condition = "(" + strings.Join(key, ", ") + ") > (" + strings.Join(parameters, ", ") + ")"
	}
	return r.read(ctx, t, selected(t)+" FROM "+quoted(t.Name)+" t WHERE "+condition+" ORDER BY "+strings.Join(key, ", "), after, do)
}

// Exceeds reports whether a table has more than n rows.
func (r *Rows) Exceeds(ctx context.Context, t ports.Table, n int) (bool, error) {
	found, err := r.one(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+quoted(t.Name)+" LIMIT "+strconv.Itoa(n+1)+") AS found")
	return found > int64(n), err
}

// Find returns the rows of a table with one of these values in a column.
func (r *Rows) Find(ctx context.Context, t ports.Table, column string, values []any) (all [][]any, err error) {
	for some := range slices.Chunk(values, maxParameters) {
		parameters := make([]string, len(some))
		for i := range some {
			parameters[i] = r.parameter(i + 1)
		}
		err := r.read(ctx, t, selected(t)+" FROM "+quoted(t.Name)+" t WHERE "+quoted(column)+" IN ("+strings.Join(parameters, ", ")+")", some, func(row []any) error {
			all = append(all, row)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// selected is the beginning of a query for the rows t of a table.
func selected(t ports.Table) string { return "SELECT t." + strings.Join(columnsOf(t), ", t.") }

// read runs a query for rows of a table. It fails when the database is silent for too long.
func (r *Rows) read(ctx context.Context, t ports.Table, query string, args []any, do func(row []any) error) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	patience := time.AfterFunc(r.Silence, func() { stop(errSilent) })
	defer func() {
		if patience.Stop(); err != nil && errors.Is(context.Cause(ctx), errSilent) {
			err = fmt.Errorf("read %s: %w", t.Name, errSilent)
		}
	}()
	found, err := r.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.Name, err)
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	into := make([]any, len(t.Columns))
	for found.Next() {
		patience.Stop()
		row := make([]any, len(t.Columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			return fmt.Errorf("read %s: %w", t.Name, err)
		}
		for i, c := range t.Columns {
			if row[i] == nil {
				continue
			}
			if row[i], err = value(row[i], c.Kind); err != nil {
				return fmt.Errorf("read %s.%s: %w", t.Name, c.Name, err)
			}
		}
		if err := do(row); err != nil {
			return err
		}
		patience.Reset(r.Silence)
	}
	return found.Err()
}

// value converts a value from the driver to its column's kind.
func value(v any, k ports.Kind) (any, error) {
	switch known := v.(type) {
	case int64:
		if k == ports.KindInteger {
			return known, nil
		}
		if k == ports.KindBoolean {
			return known != 0, nil
		}
	case string:
		if k == ports.KindText {
			return known, nil
		}
	case []byte:
		if k == ports.KindBytes {
			return known, nil
		}
		if k == ports.KindText {
			return string(known), nil
		}
	case time.Time:
		if k == ports.KindTime {
			return known.UTC(), nil
		}
	case bool:
		if k == ports.KindBoolean {
			return known, nil
		}
	}
	return nil, fmt.Errorf("a %T is not a value of the kind %s", v, k)
}

// Insert inserts rows.
func (r *Rows) Insert(ctx context.Context, t ports.Table, rows [][]any) error {
	width := len(t.Columns)
	head := "INSERT INTO " + quoted(t.Name) + " (" + strings.Join(columnsOf(t), ", ") + ") VALUES "
	for some := range slices.Chunk(rows, max(1, maxParameters/width)) {
		var query strings.Builder
		query.WriteString(head)
		args := make([]any, 0, len(some)*width)
		for i, row := range some {
			if len(row) != width {
				return fmt.Errorf("a row of %s has %d values instead of %d", t.Name, len(row), width)
			}
			if i > 0 {
				query.WriteString(", ")
			}
			for j := range row {
				query.WriteString(map[bool]string{true: "(", false: ", "}[j == 0] + r.parameter(len(args)+j+1))
			}
			query.WriteString(")")
			args = append(args, row...)
		}
		if _, err := r.conn.ExecContext(ctx, query.String(), args...); err != nil {
			return fmt.Errorf("write %s: %w", t.Name, err)
		}
	}
	return nil
}

// Clear deletes all rows.
func (r *Rows) Clear(ctx context.Context, t ports.Table) error {
	_, err := r.conn.ExecContext(ctx, "DELETE FROM "+quoted(t.Name))
	return err
}

// one runs a query for one number.
func (r *Rows) one(ctx context.Context, query string, args ...any) (n int64, err error) {
	found, err := r.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	if found.Next() {
		err = found.Scan(&n)
	}
	return n, errors.Join(err, found.Err())
}

// Last returns the last assigned id of a table.
func (r *Rows) Last(ctx context.Context, t ports.Table) (int64, error) {
	if r.postgres {
		return r.one(ctx, `SELECT COALESCE(pg_sequence_last_value(CAST(pg_get_serial_sequence($1, 'id') AS regclass)), 0)`, t.Name)
	}
	return r.one(ctx, "SELECT seq FROM sqlite_sequence WHERE name = ?", t.Name)
}

// SetLast stores the last assigned id of a table.
func (r *Rows) SetLast(ctx context.Context, t ports.Table, last int64) error {
	if r.postgres {
		_, err := r.conn.ExecContext(ctx, "SELECT setval(CAST(pg_get_serial_sequence($1, 'id') AS regclass), GREATEST(CAST($2 AS BIGINT), 1), CAST($2 AS BIGINT) > 0)", t.Name, last)
		return err
	}
	if _, err := r.conn.ExecContext(ctx, "DELETE FROM sqlite_sequence WHERE name = ?", t.Name); err != nil {
		return err
	}
	_, err := r.conn.ExecContext(ctx, "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", t.Name, last)
	return err
}

// Dangling returns the number of rows that refer to a missing row, for each foreign key with such
// rows. It names a foreign key as `table (column) -> parent`.
func (r *Rows) Dangling(ctx context.Context) (map[string]int64, error) {
	found := map[string]int64{}
	for _, f := range r.references {
		var same, set []string
		for i, c := range f.columns {
			same = append(same, "p."+quoted(f.parents[i])+" = c."+quoted(c))
			set = append(set, "c."+quoted(c)+" IS NOT NULL")
		}
		n, err := r.one(ctx, "SELECT COUNT(*) FROM "+quoted(f.table)+" c WHERE "+strings.Join(set, " AND ")+
			" AND NOT EXISTS (SELECT 1 FROM "+quoted(f.parent)+" p WHERE "+strings.Join(same, " AND ")+")")
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", f.table, err)
		}
		if n > 0 {
			found[f.table+" ("+strings.Join(f.columns, ", ")+") -> "+f.parent] = n
		}
	}
	return found, nil
}
