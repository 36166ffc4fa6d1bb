package gormstore

import "strings"

// hop is a table with a name of its own and the condition that leads to its rows from those before: `{"addresses a", "a.id = s.id"}`.
type hop struct{ table, condition string }

// along is a query that goes from each row s of a set from table to table, and selects columns of these and of s; what follows may order them
// by their names. Like lookUp it cannot be turned round, whatever the planner believes of the tables' sizes. Parameters have names.
func (d dialect) along(columns []string, hops ...hop) string {
	const set = " FROM ( @set ) AS s"
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
