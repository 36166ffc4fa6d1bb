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
