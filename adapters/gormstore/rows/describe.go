package rows

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tocsin/tocsin/ports"
)

// The queries for the schema. The first one of each database returns a row for each column, sorted
// by name: its table, its type, its position in the primary key (0: none), and whether the database
// assigns its values. The second one returns a row for each column of each foreign key. A
// partitioned table is one table; its identity column replaces its primary key, which only its
// partitions have.
const (
	sqliteColumns = `SELECT t.name, c.name, c.type, c.pk, c.pk = 1 AND t.sql LIKE '%AUTOINCREMENT%' AND c.type = 'INTEGER'
		FROM sqlite_master t CROSS JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY t.name, c.name`
	sqliteReferences = `SELECT t.name, f.id, f."table", f."from", f."to" FROM sqlite_master t CROSS JOIN pragma_foreign_key_list(t.name) f
		WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq`
	postgresColumns = `SELECT CAST(c.table_name AS TEXT), CAST(c.column_name AS TEXT), upper(CAST(c.data_type AS TEXT)),
			CASE WHEN r.relkind = 'p' THEN CAST(c.is_identity = 'YES' AS INTEGER)
				ELSE COALESCE((SELECT array_position(k.conkey, a.attnum) FROM pg_constraint k WHERE k.conrelid = a.attrelid AND k.contype = 'p'), 0) END, c.is_identity = 'YES'
		FROM information_schema.columns c JOIN pg_class r ON r.relname = c.table_name AND r.relkind IN ('r', 'p') AND NOT r.relispartition
				AND r.relnamespace = CAST(current_schema() AS regnamespace)
			JOIN pg_attribute a ON a.attrelid = r.oid AND a.attname = c.column_name
		WHERE c.table_schema = current_schema() ORDER BY c.table_name COLLATE "C", c.column_name COLLATE "C"`
	postgresReferences = `SELECT CAST(r.relname AS TEXT), CAST(k.oid AS BIGINT), CAST(p.relname AS TEXT), CAST(a.attname AS TEXT), CAST(b.attname AS TEXT)
		FROM pg_constraint k JOIN pg_class r ON r.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid
			CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS u(child, parent, n)
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.child JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.parent
		WHERE k.contype = 'f' AND r.relnamespace = CAST(current_schema() AS regnamespace) ORDER BY r.relname, k.oid, u.n`
)

// kinds maps the types of columns to kinds.
var kinds = map[string]ports.Kind{
	"INTEGER": ports.KindInteger, "BIGINT": ports.KindInteger, "SMALLINT": ports.KindInteger, "TEXT": ports.KindText,
	"BLOB": ports.KindBytes, "BYTEA": ports.KindBytes, "BOOLEAN": ports.KindBoolean,
	"DATETIME": ports.KindTime, "TIMESTAMP WITH TIME ZONE": ports.KindTime,
}

func (r *Rows) describe(ctx context.Context) error {
	columns, references := sqliteColumns, sqliteReferences
	if r.postgres {
		columns, references = postgresColumns, postgresReferences
	}
	if err := r.describeColumns(ctx, columns); err != nil {
		return err
	}
	return r.describeReferences(ctx, references)
}

func (r *Rows) describeColumns(ctx context.Context, query string) (err error) {
	found, err := r.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	places := map[string]map[int]int{} // the columns of primary keys, by their positions in these
	for found.Next() {
		var table, column, kind string
		var place int
		var numbered bool
		if err := found.Scan(&table, &column, &kind, &place, &numbered); err != nil {
			return err
		}
		if r.Excludes(table) {
			continue
		}
		if n := len(r.tables); n == 0 || r.tables[n-1].Name != table {
			r.tables = append(r.tables, ports.Table{Name: table})
			places[table] = map[int]int{}
		}
		t := &r.tables[len(r.tables)-1]
		known, is := kinds[strings.ToUpper(kind)]
		if !is {
			return fmt.Errorf("%s.%s has the unknown type %s", table, column, kind)
		}
		if place > 0 {
			places[table][place] = len(t.Columns)
		}
		t.Columns, t.Numbered = append(t.Columns, ports.Column{Name: column, Kind: known}), t.Numbered || numbered
	}
	for i := range r.tables {
		t := &r.tables[i]
		for place := range len(places[t.Name]) {
			t.Key = append(t.Key, places[t.Name][place+1])
		}
		if len(t.Key) == 0 {
			return fmt.Errorf("%s has no primary key", t.Name)
		}
	}
	return found.Err()
}

func (r *Rows) describeReferences(ctx context.Context, query string) (err error) {
	found, err := r.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	var last int64
	for found.Next() {
		var f reference
		var id int64
		var column, parent string
		if err := found.Scan(&f.table, &id, &f.parent, &column, &parent); err != nil {
			return err
		}
		if n := len(r.references); n == 0 || r.references[n-1].table != f.table || last != id {
			r.references = append(r.references, f)
		}
		last = id
		same := &r.references[len(r.references)-1]
		same.columns, same.parents = append(same.columns, column), append(same.parents, parent)
	}
	return found.Err()
}
