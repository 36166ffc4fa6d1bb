package gormstore

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

// castTime casts a parameter to a time where Postgres cannot infer its type.
func (d dialect) castTime(parameter string) string {
	if d == onPostgres {
		return "CAST(" + parameter + "AS TIMESTAMPTZ)"
	}
	return parameter
}

// unhex decodes a hexadecimal text.
func (d dialect) unhex(column string) string {
	if d == onPostgres {
		return "decode(" + column + ", 'hex')"
	}
	return "unhex(" + column + ")"
}

// fence ends a subquery that Postgres must not flatten into the outer query. Where SQLite must not
// either, joins prevent it.
func (d dialect) fence() string {
	if d == onPostgres {
		return " OFFSET 0"
	}
	return ""
}

// skipLocked ends a query that locks rows for update and skips those locked by others.
func (d dialect) skipLocked() string {
	if d == onPostgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// skipLockedRows is skipLocked for updates that do not change the keys: other units may still refer
// to the rows.
func (d dialect) skipLockedRows() string {
	if d == onPostgres {
		return " FOR NO KEY UPDATE SKIP LOCKED"
	}
	return ""
}

// lockOf ends a query that locks the rows of a table, waiting for other locks.
func (d dialect) lockOf(table string) string {
	if d == onPostgres {
		return " FOR UPDATE OF " + table
	}
	return ""
}

// lockRowsOf is lockOf for updates that do not change the keys.
func (d dialect) lockRowsOf(table string) string {
	if d == onPostgres {
		return " FOR NO KEY UPDATE OF " + table
	}
	return ""
}

// contains is the condition that a text contains the text of a parameter, case included.
func (d dialect) contains(column string) string {
	if d == onPostgres {
		return "strpos(" + column + ", ?) > 0"
	}
	return "instr(" + column + ", ?) > 0"
}
