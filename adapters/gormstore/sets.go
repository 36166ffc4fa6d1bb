package gormstore

import (
	"encoding/json"
	"strings"

	"gorm.io/gorm/clause"
)

// among is the condition that a column holds one of these values, which are ONE parameter: `WHERE id ?`. Postgres
// estimates the rows of = ANY soundly even for a table whose statistics it has not gathered yet; of IN and a set it then makes a
// nested loop over everything.
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

// rowSet is a set of rows as ONE parameter: `FROM (?) AS s`. columns name the JSON members of a row with their types on
// Postgres, as in "address_id bigint".
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
