package ports

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/fault"
)

// Kind is the type of a column's values.
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

// Tables are the contents of a database, table by table, within one unit of work. Records of
// instances, and the state of the installation, are left out: they belong to one installation and
// moment.
type Tables interface {
	// Tables returns the tables, each after those that it refers to.
	Tables() []Table
	// Excludes reports whether a table of this name is left out, which Tables does not return.
	Excludes(table string) bool
	// Read calls do for each row in the order of the key, from the one after the given key on; nil:
	// from the first on. For the Tables of one organization, after must be nil: all rows come, in
	// any order. do must not use this unit of work.
	Read(ctx context.Context, t Table, after []any, do func(row []any) error) error
	// Exceeds reports whether a table has more than n rows.
	Exceeds(ctx context.Context, t Table, n int) (bool, error)
	// Find returns the rows that have one of these values in a column.
	Find(ctx context.Context, t Table, column string, values []any) ([][]any, error)
	// Insert adds rows.
	Insert(ctx context.Context, t Table, rows [][]any) error
	// Clear removes all rows.
	Clear(ctx context.Context, t Table) error
	// Last returns the last number that was given to a row of a numbered table, and SetLast stores
	// it.
	Last(ctx context.Context, t Table) (int64, error)
	SetLast(ctx context.Context, t Table, last int64) error
	// Mark returns the progress of a copy into this database; the zero Mark: none is under way.
	Mark(ctx context.Context) (Mark, error)
	// SetMark stores the progress, unless another copy has done so since the mark whose step is one
	// less; ErrOtherCopy. Until EndMark removes it every program refuses the database;
	// ErrIncomplete.
	SetMark(ctx context.Context, m Mark) error
	EndMark(ctx context.Context, m Mark) error
	// Organization returns the rows of one organization alone, with its number, and
	// OrganizationByID those of the one with this number. What belongs to the installation is left
	// out; orgs.ErrNotFound.
	Organization(ctx context.Context, slug string) (Tables, int64, error)
	OrganizationByID(organization int64) Tables
	// Sending counts the messages that are being sent, so that their outcome will be recorded here.
	Sending(ctx context.Context) (int64, error)
}

// Mark is the progress of a copy into a database.
type Mark struct {
	Since time.Time // when the source became read-only
	Table string    // the last one with written rows; empty: none
	After string    // the key of the last of these rows
	Step  int64     // counts the units of work, from 1
}

// Errors of an incomplete copy.
var (
	ErrIncomplete = fault.New(fault.Unavailable, "the database holds a copy that is not complete; repeat `tocsin copy` to complete it")
	ErrOtherCopy  = fault.New(fault.Invalid, "another `tocsin copy` writes to the destination, or the database's last answer was lost; repeat the command once no other one runs")
)

// CopyStore is a store that can be copied, row by row.
type CopyStore interface {
	// Version is that of the schema, which it also returns with ErrIncomplete.
	Version(ctx context.Context) (int64, error)
	// ChangingSince returns when the oldest transaction that is under way began; zero: there is
	// none. On SQLite it waits for the end of a change instead.
	ChangingSince(ctx context.Context) (time.Time, error)
	// ReadTables runs fn on one consistent snapshot.
	ReadTables(ctx context.Context, fn func(Tables, Tx) error) error
	// WriteTables runs fn, once, as a unit of work: all of it is kept when fn returns nil, and
	// nothing otherwise.
	WriteTables(ctx context.Context, fn func(Tables, Tx) error) error
}

// Finding is a check of a store's contents, with its errors.
type Finding struct {
	Check string
	Wrong []string // empty: none
}
