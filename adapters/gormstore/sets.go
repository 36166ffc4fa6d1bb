package gormstore

import (
	"encoding/json"
	"strings"

	"gorm.io/gorm/clause"
)

// among is the condition that a column has one of these values, which are one parameter: `WHERE id
// ?`. Postgres estimates the rows of = ANY well even without statistics; with IN it may scan the
// table.
func among[T ~int64 | ~string](d dialect, values []T) clause.Expr {
	if values == nil {
		values = []T{} // nil would be NULL, and neither IN nor NOT IN NULL is true
	}
	if d == onPostgres {
		// A pointer, because gorm expands a slice into a list of parameters.
		return clause.Expr{SQL: "= ANY(?)", Vars: []any{&values}}
	}
	return clause.Expr{SQL: "IN (SELECT value FROM json_each(?))", Vars: []any{jsonArray(values)}}
}

// amongThose is the condition that a value is among those of a query. Postgres does not join the
// query with the table of the value, which may read all of it.
func (d dialect) amongThose(query string) string {
	if d == onPostgres {
		return "= ANY(ARRAY(" + query + "))"
	}
	return "IN (" + query + ")"
}

// joinByID joins the row of a table with an id, by one look-up for each row before it.
func (d dialect) joinByID(table, alias, columns, id string) string {
	if d == onPostgres {
		return "CROSS JOIN LATERAL (SELECT " + columns + " FROM " + table + " WHERE id = " + id + " OFFSET 0) AS " + alias
	}
	return "CROSS JOIN " + table + " " + alias + " ON " + alias + ".id = " + id
}

// exists is the condition that a query about a row finds something. OFFSET makes Postgres run the
// query for each row: otherwise it may reverse the join, or read a whole table once to hash it.
func exists(query string) string { return "EXISTS (" + query + " LIMIT 1 OFFSET 0)" }

// unindexed keeps the planner from using an index on a numeric column. It is for columns that very
// many rows share, such as the organization, the channel or the state, in statements with a set
// that selects the rows. With missing or stale statistics the planner would prefer the index of the
// column, and read all these rows.
func unindexed(column string) string { return column + " + 0" }

// lookUp is a query for the rows r of a table that belong to the rows s of a set, by one look-up
// for each. The planner cannot reorder it: Postgres does not flatten a subquery with OFFSET 0, and
// CROSS JOIN makes SQLite start with the set.
func (d dialect) lookUp(set clause.Expr, columns, table, condition string, args ...any) statement {
	args = append([]any{set}, args...)
	if d == onPostgres {
		return stmt("SELECT found.* FROM (?) AS s CROSS JOIN LATERAL (SELECT "+columns+" FROM "+table+" AS r WHERE "+condition+" OFFSET 0) AS found", args...)
	}
	return stmt("SELECT "+columns+" FROM "+table+" AS r WHERE r.id IN (SELECT r.id FROM (?) AS s CROSS JOIN "+table+" AS r ON "+condition+")", args...)
}

// joinedTable is a table with an alias, and the condition that joins it to the tables before:
// `{"addresses a", "a.id = s.id"}`.
type joinedTable struct{ table, condition string }

// lookUpJoined is a query that joins tables to each row s of a set, in this order, and selects
// columns of these and of s. An ORDER BY may follow it. As with lookUp, the planner cannot reorder
// it. Parameters are named.
func (d dialect) lookUpJoined(columns []string, hops ...joinedTable) string {
	return d.lookUpJoinedAs("s", columns, hops...)
}

// lookUpJoinedAs is lookUpJoined with another alias for the rows of the set.
func (d dialect) lookUpJoinedAs(name string, columns []string, hops ...joinedTable) string {
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

// textSet is a set of distinct texts as one parameter: `FROM (?) AS s`. The column is called value.
func textSet(d dialect, texts []string) clause.Expr {
	if d == onPostgres {
		return clause.Expr{SQL: "SELECT DISTINCT value FROM unnest(CAST(? AS TEXT[])) AS t(value)", Vars: []any{&texts}} // a pointer, as in among
	}
	return clause.Expr{SQL: "SELECT DISTINCT value FROM json_each(?)", Vars: []any{jsonArray(texts)}}
}

// rowSet is a set of rows as one parameter: `FROM (?) AS s`. columns name the JSON members of a row
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

// jsonArray encodes values for json_each and json_to_recordset.
func jsonArray[T any](values []T) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic("gormstore: " + err.Error()) // Cannot happen: texts, numbers and structs of them can be encoded.
	}
	if values == nil {
		return "[]"
	}
	return string(text)
}
