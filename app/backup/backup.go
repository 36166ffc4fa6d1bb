// Package backup copies all data of an installation: into a file, and from a file into an empty
// database. A copy is lines of text, the same for every database. The package knows neither files
// nor databases.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// Errors of a copy.
var (
	ErrNoCopy   = fault.New(fault.Invalid, "this file is not a copy of an installation")
	ErrDamaged  = fault.New(fault.Invalid, "the copy is damaged or incomplete; nothing was restored")
	ErrSchema   = fault.New(fault.Invalid, "the copy has another schema than this program")
	ErrNotEmpty = fault.New(fault.Invalid, "the database is not empty; a copy is restored into an empty one only")
	// ErrServed says that an instance sends what is due in the database.
	ErrServed = fault.New(fault.Invalid, "an instance uses the database; stop all instances first")
)

const (
	formatName    = "tocsin backup"
	formatVersion = 1
)

var (
	// pageSize is the largest number of rows that are written at once.
	pageSize = 2_000
	// pageBytes is the largest size of their texts and bytes, unless a page is one row. Three pages
	// are in memory at once.
	pageBytes = 4 << 20
)

// pager collects rows into pages.
type pager struct {
	rows  [][]any
	bytes int
	do    func(rows [][]any) error
}

func (p *pager) add(row []any) error {
	size := 0
	for _, v := range row {
		switch known := v.(type) {
		case string:
			size += len(known)
		case []byte:
			size += len(known)
		}
	}
	if len(p.rows) > 0 && p.bytes+size > pageBytes {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.rows, p.bytes = append(p.rows, row), p.bytes+size
	if len(p.rows) < pageSize {
		return nil
	}
	return p.flush()
}

// flush passes on the rows collected so far.
func (p *pager) flush() error {
	if len(p.rows) == 0 {
		return nil
	}
	rows := p.rows
	p.rows, p.bytes = nil, 0
	return p.do(rows)
}

// Lines receives the lines of a copy.
type Lines interface{ WriteLine(line []byte) error }

// Source returns the lines of a copy, and io.EOF after the last one.
type Source interface{ ReadLine() ([]byte, error) }

// header is the first line.
type header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Schema  int64     `json:"schema"`
	Program string    `json:"program"`
	Taken   time.Time `json:"taken"`
}

// begin is the line before the rows of a table. Each row is an array of its columns' values.
type begin struct {
	Table    string         `json:"table"`
	Columns  []ports.Column `json:"columns"`
	Numbered bool           `json:"numbered"`
	Last     int64          `json:"last"` // the last number that a row got
}

// end is the line after the rows of a table.
type end struct {
	End  string `json:"end"` // the table
	Rows int64  `json:"rows"`
	Sum  string `json:"sum"` // of the rows, in any order
}

// complete is the last line.
type complete struct {
	Complete bool  `json:"complete"`
	Tables   int   `json:"tables"`
	Rows     int64 `json:"rows"`
}

// Summary is the content of a copy.
type Summary struct {
	Taken   time.Time
	Tables  []TableSummary
	Resumed bool // the copy was continued after an interruption
}

// TableSummary is a table with the number of its rows and their sum.
type TableSummary struct {
	Table string
	Rows  int64
	Sum   string
}

// Rows returns the number of rows in all tables.
func (s Summary) Rows() (n int64) {
	for _, t := range s.Tables {
		n += t.Rows
	}
	return n
}

// sum is a checksum of rows: the sum of their digests. It does not depend on their order, because
// databases sort texts differently.
type sum struct {
	rows   int64
	digest [4]uint64
}

func (s *sum) add(line []byte) {
	s.rows++
	d := sha256.Sum256(line)
	for i := range s.digest {
		s.digest[i] += binary.BigEndian.Uint64(d[8*i:])
	}
}

func (s *sum) String() string {
	return fmt.Sprintf("%016x%016x%016x%016x", s.digest[0], s.digest[1], s.digest[2], s.digest[3])
}

// Write writes a copy of a store as it is at one moment. The store stays in use meanwhile.
func Write(ctx context.Context, from ports.CopyStore, program string, taken time.Time, to Lines) (Summary, error) {
	done := Summary{Taken: taken}
	schema, err := from.Version(ctx)
	if err != nil {
		return done, err
	}
	if err := write(to, header{formatName, formatVersion, schema, program, taken.UTC()}); err != nil {
		return done, err
	}
	err = from.ReadTables(ctx, func(tables ports.Tables, _ ports.Tx) error {
		done.Tables = nil
		for _, t := range tables.Tables() {
			counted, err := writeTable(ctx, tables, t, to)
			if err != nil {
				return err
			}
			done.Tables = append(done.Tables, counted)
		}
		return nil
	})
	if err != nil {
		return done, err
	}
	return done, write(to, complete{true, len(done.Tables), done.Rows()})
}

func writeTable(ctx context.Context, from ports.Tables, t ports.Table, to Lines) (TableSummary, error) {
	b := begin{Table: t.Name, Columns: t.Columns, Numbered: t.Numbered}
	var err error
	if t.Numbered {
		if b.Last, err = from.Last(ctx, t); err != nil {
			return TableSummary{}, err
		}
	}
	if err := write(to, b); err != nil {
		return TableSummary{}, err
	}
	var s sum
	err = each(ctx, from, t, nil, func(rows [][]any) error {
		for _, row := range rows {
			line, err := encode(row)
			if err == nil {
				s.add(line)
				err = to.WriteLine(line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return TableSummary{}, err
	}
	return TableSummary{t.Name, s.rows, s.String()}, write(to, end{t.Name, s.rows, s.String()})
}

// each passes the rows of a table to do, a page at a time, beginning after a key; nil: with the
// first row.
func each(ctx context.Context, from ports.Tables, t ports.Table, after []any, do func(rows [][]any) error) error {
	p := pager{do: do}
	err := from.Read(ctx, t, after, func(row []any) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return p.add(row)
	})
	if err != nil {
		return err
	}
	return p.flush()
}

func write(to Lines, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return to.WriteLine(line)
}

// Restore fills an empty database from a copy: all of it, or nothing. The installation sends
// nothing until it is released.
func Restore(ctx context.Context, to ports.CopyStore, by audit.Actor, now time.Time, from Opened) (done Summary, err error) {
	schema, err := to.Version(ctx)
	if err != nil {
		return done, err
	}
	h := from.header
	switch {
	case h.Version != formatVersion:
		return done, ErrSchema.With("the copy has the format %d, and this program reads %d", h.Version, formatVersion)
	case h.Schema > schema:
		return done, ErrSchema.With("the copy has the schema %d, newer than %d of this program: restore it with the newest release that has "+
			"used the installation, even if %q, to which it was taken back, wrote the copy", h.Schema, schema, h.Program)
	case h.Schema < schema:
		return done, ErrSchema.With("the copy has the schema %d, older than %d of this program: restore it with %q, which wrote it, "+
			"or the release that it was taken back from, then upgrade", h.Schema, schema, h.Program)
	}
	done.Taken = h.Taken
	var begun bool
	err = to.WriteTables(ctx, func(tables ports.Tables, tx ports.Tx) error {
		if begun {
			return errors.New("the database had to restart the transaction; repeat the command")
		}
		begun = true
		if err := empty(ctx, tables, tx, now); err != nil {
			return err
		}
		if done.Tables, err = readTables(ctx, tables, from.from); err != nil {
			return err
		}
		return hold(ctx, tx, by, now, done)
	})
	return done, err
}

// hold stops a restored installation from sending until it is released.
func hold(ctx context.Context, tx ports.Tx, by audit.Actor, now time.Time, done Summary) error {
	state, err := tx.Installation().State(ctx)
	if err != nil {
		return err
	}
	state.Held = now
	if err := tx.Installation().SetState(ctx, state); err != nil {
		return err
	}
	return tx.Audit().Record(ctx, audit.Entry{Actor: by, At: now, Action: audit.InstallationRestored, Object: "installation",
		After: audit.State{"taken": done.Taken, "rows": done.Rows()}})
}

// readTables inserts the rows of a copy. It skips tables that are left out: an earlier release
// copies tables that it does not know, because its installation was newer before.
func readTables(ctx context.Context, to ports.Tables, from Source) (all []TableSummary, err error) {
	var total int64
	var tables int
	for {
		line, err := from.ReadLine()
		if err != nil {
			return nil, damaged(err)
		}
		var last complete
		if json.Unmarshal(line, &last) == nil && last.Complete {
			if last.Tables != tables || len(all) != len(to.Tables()) || last.Rows != total {
				return nil, ErrDamaged
			}
			if _, err := from.ReadLine(); !errors.Is(err, io.EOF) { // The compression has a checksum of its own, at the end.
				return nil, ErrDamaged
			}
			return all, nil
		}
		var b begin
		if err := json.Unmarshal(line, &b); err != nil || b.Table == "" {
			return nil, ErrDamaged
		}
		counted, err := readTable(ctx, to, b, from)
		if err != nil {
			return nil, err
		}
		tables, total = tables+1, total+counted.Rows
		if !to.Excludes(b.Table) {
			all = append(all, counted)
		}
	}
}

func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrDamaged
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
