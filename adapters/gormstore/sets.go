package gormstore

import (
	"encoding/json"
	"strings"

	"gorm.io/gorm/clause"
)

// among is the condition that a column holds one of these values, which are ONE parameter: `WHERE
// id ?`. Postgres estimates the rows of = ANY soundly even for a table whose statistics it has not
// gathered yet; of IN and a set it then makes a nested loop over everything.
func among[T ~int64 | ~string](d dialect, values []T) clause.Expr {
	if values == nil {
		values = []T{} // nil would be NULL, and neither IN nor NOT IN it holds
	}
	if d == onPostgres {
		// A pointer, because gorm spells a slice out as a list of parameters.
		return clause.Expr{SQL: "= ANY(?)", Vars: []any{&values}}
	}
	return clause.Expr{SQL: "IN (SELECT value FROM json_each(?))", Vars: []any{jsonArray(values)}}
}

// unindexed is a numeric column that no index may be used for. Where a set tells which rows are
// wanted, an index on what all rows of an organization or a channel have in common seems to lead to
// fewer as long as statistics are missing or stale, and then the planner goes through all of them,
// for every set.
func unindexed(column string) string { return column + " + 0" }

// lookUp is a query for the rows r of a table that belong to the rows s of a set: one look-up for
// each, which the condition describes. It cannot be turned round, whatever the planner believes of
// the table's size: OFFSET 0 has Postgres take a subquery as it stands, and CROSS JOIN has SQLite
// begin with the set.
func (d dialect) lookUp(set clause.Expr, columns, table, condition string, args ...any) statement {
	args = append([]any{set}, args...)
	if d == onPostgres {
		return stmt("SELECT found.* FROM (?) AS s CROSS JOIN LATERAL (SELECT "+columns+" FROM "+table+" AS r WHERE "+condition+" OFFSET 0) AS found", args...)
	}
	return stmt("SELECT "+columns+" FROM "+table+" AS r WHERE r.id IN (SELECT r.id FROM (?) AS s CROSS JOIN "+table+" AS r ON "+condition+")", args...)
}

// hop is a table with a name of its own and the condition that leads to its rows from those before:
// `{"addresses a", "a.id = s.id"}`.
type hop struct{ table, condition string }

// along is a query that goes from each row s of a set from table to table, and selects columns of
// these and of s; what follows may order them by their names. Like lookUp it cannot be turned
// round, whatever the planner believes of the tables' sizes. Parameters have names.
func (d dialect) along(columns []string, hops ...hop) string { return d.alongAs("s", columns, hops...) }

// alongAs is along where the rows of the set have another name.
func (d dialect) alongAs(name string, columns []string, hops ...hop) string {
	set := " FROM ( @set ) AS " + name
	var way strings.Builder
	if d == onPostgres {
		for _, next := range hops[1:] {
			way.WriteString(" JOIN " + next.table + " ON " + next.condition)
		}
		return "SELECT found.*" + set + " CROSS JOIN LATERAL (SELECT " + strings.Join(columns, ", ") +
			" FROM " + hops[0].table + way.String() + " WHERE " + hops[0].condition + " OFFSET 0) AS found"
	}
	for _, next := range hops {
		way.WriteString(" CROSS JOIN " + next.table + " ON " + next.condition)
	}
	return "SELECT " + strings.Join(columns, ", ") + set + way.String()
}

// textSet is a set of texts, each once, as ONE parameter: `FROM (?) AS s`. Their column is called
// value.
func textSet(d dialect, texts []string) clause.Expr {
	if d == onPostgres {
		return clause.Expr{SQL: "SELECT DISTINCT value FROM unnest(CAST(? AS TEXT[])) AS t(value)", Vars: []any{&texts}} // a pointer, as in among
	}
	return clause.Expr{SQL: "SELECT DISTINCT value FROM json_each(?)", Vars: []any{jsonArray(texts)}}
}

// rowSet is a set of rows as ONE parameter: `FROM (?) AS s`. columns name the JSON members of a row
// with their types on Postgres, as in "address_id bigint".
func rowSet[R any](d dialect, rows []R, columns ...string) clause.Expr {
	vars := []any{jsonArray(rows)}
	if d == onPostgres {
		return clause.Expr{SQL: "SELECT * FROM json_to_recordset(?::json) AS r(" + strings.Join(columns, ", ") + ")", Vars: vars}
	}
	picked := make([]string, len(columns))
	for i, c := range columns {
		name, _, _ := strings.Cut(c, " ")
		picked[i] = "value ->> '" + name + "' AS " + name
	}
	return clause.Expr{SQL: "SELECT " + strings.Join(picked, ", ") + " FROM jsonb_each(?)", Vars: vars}
}

// jsonArray writes values for json_each and json_to_recordset.
func jsonArray[T any](values []T) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic("gormstore: " + err.Error()) // only texts, numbers and structs of them come here, and they have a JSON form
	}
	if values == nil {
		return "[]"
	}
	return string(text)
}
