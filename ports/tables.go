package ports

import "context"

// Kind is what a column holds.
type Kind string

// The kinds. Values are nil, or int64, string, []byte, time.Time in UTC, and bool.
const (
	KindInteger Kind = "integer"
	KindText    Kind = "text"
	KindBytes   Kind = "bytes"
	KindTime    Kind = "time"
	KindBoolean Kind = "boolean"
)

// Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// Table is a table of a database, with its columns by name.
type Table struct {
	Name     string
	Columns  []Column
	Key      []int // the columns of its primary key
	Numbered bool  // the database numbers its rows
}

// Tables is what a database holds, table by table, within one unit of work. What instances note of
// themselves, and the state of the installation, are left out: they are of one place and moment.
type Tables interface {
	// Tables returns the tables, each after those that it refers to.
	Tables() []Table
	// Page returns rows in the order of the key, at most limit after the one with the given key;
	// nil: from the first on.
	Page(ctx context.Context, t Table, after []any, limit int) ([][]any, error)
	// Insert adds rows.
	Insert(ctx context.Context, t Table, rows [][]any) error
	// Clear removes all rows.
	Clear(ctx context.Context, t Table) error
	// Last returns the last number that was given to a row of a numbered table, and SetLast stores
	// it.
	Last(ctx context.Context, t Table) (int64, error)
	SetLast(ctx context.Context, t Table, last int64) error
	// Sending counts the messages that somebody is sending, so that their outcome will be recorded
	// here.
	Sending(ctx context.Context) (int64, error)
}

// Carrier is a store that can be carried elsewhere, row by row.
type Carrier interface {
	// Version is that of the schema.
	Version(ctx context.Context) (int64, error)
	// ReadTables runs fn on one consistent snapshot.
	ReadTables(ctx context.Context, fn func(Tables, Tx) error) error
	// WriteTables runs fn, once, as a unit of work: all of it is kept when fn returns nil, and
	// nothing otherwise.
	WriteTables(ctx context.Context, fn func(Tables, Tx) error) error
}

// Finding is a question about what a store holds, with what is wrong.
type Finding struct {
	Check string
	Wrong []string // empty: all is well
}
