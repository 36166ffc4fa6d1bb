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

// moment casts a parameter to a time where Postgres cannot tell from the context that it is one.
func (d dialect) moment(parameter string) string {
	if d == onPostgres {
		return "CAST(" + parameter + "AS TIMESTAMPTZ)"
	}
	return parameter
}

// unhex is the bytes that a hexadecimal text spells.
func (d dialect) unhex(column string) string {
	if d == onPostgres {
		return "decode(" + column + ", 'hex')"
	}
	return "unhex(" + column + ")"
}

// skipLocked ends a query that takes rows which others may take as well.
func (d dialect) skipLocked() string {
	if d == onPostgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// skipLockedRows is skipLocked for rows whose keys stay: others may go on referring to them.
func (d dialect) skipLockedRows() string {
	if d == onPostgres {
		return " FOR NO KEY UPDATE SKIP LOCKED"
	}
	return ""
}

// lockOf ends a query that takes the rows of a table, and waits for those that others have taken.
func (d dialect) lockOf(table string) string {
	if d == onPostgres {
		return " FOR UPDATE OF " + table
	}
	return ""
}

// lockRowsOf ends a query that takes the rows of a table for changes that leave their keys alone.
func (d dialect) lockRowsOf(table string) string {
	if d == onPostgres {
		return " FOR NO KEY UPDATE OF " + table
	}
	return ""
}

// contains is the condition that a text contains a parameter, to the letter.
func (d dialect) contains(column string) string {
	if d == onPostgres {
		return "strpos(" + column + ", ?) > 0"
	}
	return "instr(" + column + ", ?) > 0"
}
