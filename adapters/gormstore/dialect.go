package gormstore

import (
	"encoding/json"

	"gorm.io/gorm/clause"
)

// dialect is the kind of database behind a store.
type dialect uint8

const (
	onSQLite dialect = iota + 1
	onPostgres
)

// String names the folder of the dialect's migrations.
func (d dialect) String() string {
	if d == onPostgres {
		return "postgres"
	}
	return "sqlite"
}

// idSet is a set of ids as ONE parameter, so that a statement's text does not depend on how many there are. It is a
// query with one column, v: `WHERE id IN (?)` or `FROM (?) AS s`.
func idSet[T ~int64](d dialect, ids []T) clause.Expr {
	plain := make([]int64, len(ids))
	for i, id := range ids {
		plain[i] = int64(id)
	}
	return setOf(d, plain, "SELECT v FROM unnest(?::bigint[]) AS v")
}

// textSet is idSet for texts.
func textSet(d dialect, texts []string) clause.Expr {
	return setOf(d, texts, "SELECT v FROM unnest(?::text[]) AS v")
}

func setOf[T int64 | string](d dialect, values []T, onPostgresSQL string) clause.Expr {
	if d == onPostgres {
		// A pointer, because gorm spells a slice out as a list of parameters.
		return clause.Expr{SQL: onPostgresSQL, Vars: []any{&values}}
	}
	return clause.Expr{SQL: "SELECT value AS v FROM json_each(?)", Vars: []any{jsonArray(values)}}
}

// jsonArray writes values for json_each.
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
