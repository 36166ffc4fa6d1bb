package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

// Errors of a source and of a destination.
var (
	// ErrInUse says that changes made to an installation during its copy would be lost.
	ErrInUse = fault.New(fault.Invalid, "the source is in use; `tocsin maintenance on` makes it read-only")
	// ErrChanged says that an interrupted copy cannot be continued.
	ErrChanged = fault.New(fault.Invalid, "the source was not read-only all the while since the copy was begun; begin it again with --restart")
)

// Settled is how long an installation must have been read-only before it is copied: by then all of
// its instances know.
const Settled = 3 * time.Second

// incomplete is the reason of a destination that refuses changes before it is complete.
const incomplete = "a copy into this database is not complete"

// Options say how a copy is made.
type Options struct {
	By  audit.Actor
	Now time.Time
	// Restart begins again, instead of continuing an interrupted copy.
	Restart bool
}

// Copy fills an empty database with all data of another one, which must be read-only, or continues
// an interrupted copy of it. Every program refuses the destination until it is complete: until all
// of it was read again and compared with the source. The destination sends nothing until it is
// released.
func Copy(ctx context.Context, from, to ports.CopyStore, o Options) (done Summary, err error) {
	if err := sameSchema(ctx, from, to); err != nil && !errors.Is(err, errIncomplete) {
		return done, err
	}
	c := &databaseCopy{to: to, options: o, last: map[string]int64{}, done: Summary{Taken: o.Now}}
	changing, err := from.ChangingSince(ctx)
	if err != nil {
		return done, err
	}
	err = from.ReadTables(ctx, func(source ports.Tables, tx ports.Tx) error {
		since, err := unchangedSince(ctx, source, tx, changing, o.Now)
		if err == nil {
			err = c.begin(ctx, since)
		}
		if err == nil {
			err = c.fill(ctx, source)
		}
		return err
	})
	if err == nil {
		err = c.complete(ctx, from)
	}
	return c.done, err
}

// errIncomplete says that the destination contains an incomplete copy.
var errIncomplete = fmt.Errorf("the destination: %w", ports.ErrIncomplete)

// sameSchema returns ErrSchema if the schemas differ, and errIncomplete if the destination has an
// incomplete copy.
func sameSchema(ctx context.Context, from, to ports.CopyStore) error {
	has, err := from.Version(ctx)
	if err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	takes, err := to.Version(ctx)
	switch {
	case err != nil && !errors.Is(err, ports.ErrIncomplete):
		return fmt.Errorf("the destination: %w", err)
	case has != takes:
		return ErrSchema.With("the source has the schema %d, and the destination has %d", has, takes)
	case err != nil:
		return errIncomplete
	}
	return nil
}

// databaseCopy is a copy under way.
type databaseCopy struct {
	to      ports.CopyStore
	options Options
	mark    ports.Mark       // as stored in the destination
	last    map[string]int64 // the last numbers of the tables that have some
	done    Summary
}

// begin empties the destination and marks it, or reads the progress of an interrupted copy. It
// returns ErrNotEmpty when the destination has been used, ErrServed, and ErrChanged.
func (c *databaseCopy) begin(ctx context.Context, since time.Time) error {
	return c.to.WriteTables(ctx, func(target ports.Tables, tx ports.Tx) (err error) {
		if c.mark, err = target.Mark(ctx); err != nil {
			return err
		}
		c.done.Resumed = c.mark.Step > 0 && !c.options.Restart
		switch {
		case c.done.Resumed && !c.mark.Since.Equal(since):
			return ErrChanged
		case c.done.Resumed:
			return nil
		case c.mark.Step > 0:
			err = clearAll(ctx, target)
		default:
			err = empty(ctx, target, tx, c.options.Now)
		}
		if err != nil {
			return err
		}
		c.mark = ports.Mark{Since: since, Step: c.mark.Step + 1}
		if err := target.SetMark(ctx, c.mark); err != nil {
			return err
		}
		return tx.Installation().SetState(ctx, installation.State{Held: c.options.Now, ReadOnly: c.options.Now, Notice: incomplete})
	})
}

// fill copies the rows that the destination lacks, and sums up all rows of the source.
func (c *databaseCopy) fill(ctx context.Context, source ports.Tables) error {
	at := slices.IndexFunc(source.Tables(), func(t ports.Table) bool { return t.Name == c.mark.Table })
	for i, t := range source.Tables() {
		var read sum
		var after []any
		if i <= at { // Another run has copied at least some of its rows.
			if err := each(ctx, source, t, nil, read.addRows); err != nil {
				return err
			}
		}
		if i == at {
			var err error
			if after, err = keyOf(c.mark.After, t); err != nil {
				return fmt.Errorf("the mark of the copy: %w", err)
			}
		}
		if i >= at {
			whole, err := c.table(ctx, source, t, after)
			if err != nil {
				return err
			}
			if i > at {
				read = whole
			}
		}
		if t.Numbered {
			last, err := source.Last(ctx, t)
			if err != nil {
				return err
			}
			c.last[t.Name] = last
		}
		c.done.Tables = append(c.done.Tables, TableSummary{t.Name, read.rows, read.String()})
	}
	return nil
}

// page is a page of a table, or the error of reading it.
type page struct {
	rows [][]any
	err  error
}

// table copies the rows of a table after a key. It reads ahead while it writes.
func (c *databaseCopy) table(ctx context.Context, source ports.Tables, t ports.Table, after []any) (sum, error) {
	ctx, stop := context.WithCancel(ctx)
	pages := make(chan page, 1)
	var read sum
	go func() {
		defer close(pages)
		err := each(ctx, source, t, after, func(rows [][]any) error {
			err := read.addRows(rows)
			if err == nil {
				err = send(ctx, pages, page{rows: rows})
			}
			return err
		})
		if err != nil {
			_ = send(ctx, pages, page{err: err}) // The receiver may be gone.
		}
	}()
	defer func() { // The reader's unit of work must not end before the reader.
		stop()
		for range pages {
			continue
		}
	}()
	for p := range pages {
		if p.err != nil {
			return sum{}, p.err
		}
		if err := c.write(ctx, t, p.rows); err != nil {
			return sum{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return sum{}, err
	}
	return read, nil
}

// write adds rows to a table of the destination, and stores the progress in the same unit of work.
func (c *databaseCopy) write(ctx context.Context, t ports.Table, rows [][]any) error {
	last := rows[len(rows)-1]
	key := make([]any, len(t.Key))
	for i, k := range t.Key {
		key[i] = last[k]
	}
	after, err := encode(key)
	if err != nil {
		return err
	}
	next := ports.Mark{Since: c.mark.Since, Table: t.Name, After: string(after), Step: c.mark.Step + 1}
	err = c.to.WriteTables(ctx, func(target ports.Tables, _ ports.Tx) error {
		if err := target.SetMark(ctx, next); err != nil {
			return err
		}
		return target.Insert(ctx, t, rows)
	})
	if err == nil {
		c.mark = next
	}
	return err
}

// complete compares the destination with what was read from the source, and opens the destination,
// held, when both are the same.
func (c *databaseCopy) complete(ctx context.Context, from ports.CopyStore) error {
	return c.to.WriteTables(ctx, func(target ports.Tables, tx ports.Tx) error {
		if err := target.EndMark(ctx, c.mark); err != nil { // This also locks out other writers.
			return err
		}
		for i, t := range target.Tables() {
			var written sum
			if err := each(ctx, target, t, nil, written.addRows); err != nil {
				return err
			}
			if read := c.done.Tables[i]; read != (TableSummary{t.Name, written.rows, written.String()}) {
				return fmt.Errorf("%s: %d rows were read and %d are there, or their sums differ; begin again with --restart", t.Name, read.Rows, written.rows)
			}
			if !t.Numbered {
				continue
			}
			if err := target.SetLast(ctx, t, c.last[t.Name]); err != nil {
				return err
			}
		}
		if err := checkStillReadOnly(ctx, from, c.mark.Since); err != nil {
			return err
		}
		if err := tx.Installation().SetState(ctx, installation.State{}); err != nil {
			return err
		}
		return hold(ctx, tx, c.options.By, c.options.Now, c.done)
	})
}

// checkStillReadOnly returns ErrInUse unless the source has been read-only since that moment. The
// copied snapshot cannot show that.
func checkStillReadOnly(ctx context.Context, from ports.CopyStore, since time.Time) error {
	return from.ReadTables(ctx, func(_ ports.Tables, tx ports.Tx) error {
		state, err := tx.Installation().State(ctx)
		if err == nil && !state.ReadOnly.Equal(since) {
			err = ErrInUse.With("the source was not read-only all the while, and what happened there would be lost; begin the copy again with --restart")
		}
		return err
	})
}

// unchangedSince returns when an installation became read-only, or ErrInUse if it may still change.
// changing is the result of ChangingSince before this snapshot: a transaction that began before all
// instances knew may commit after the snapshot.
func unchangedSince(ctx context.Context, source ports.Tables, tx ports.Tx, changing, now time.Time) (since time.Time, err error) {
	state, err := tx.Installation().State(ctx)
	if err != nil {
		return since, err
	}
	if state.ReadOnly.IsZero() {
		return since, ErrInUse
	}
	if now.Sub(state.ReadOnly) < Settled {
		return since, ErrInUse.With("the source has been read-only for less than %s; repeat the command in a moment", Settled)
	}
	if !changing.IsZero() && !changing.After(state.ReadOnly.Add(Settled)) {
		return since, ErrInUse.With("the source has a transaction that began before it was read-only, and may still change it; repeat the command in a moment")
	}
	sending, err := source.Sending(ctx)
	if err == nil && sending > 0 {
		err = ErrInUse.With("the source is still sending %d messages, whose outcome would be lost; repeat the command in a moment", sending)
	}
	return state.ReadOnly, err
}

func send(ctx context.Context, to chan<- page, p page) error {
	select {
	case to <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// addRows adds rows.
func (s *sum) addRows(rows [][]any) error {
	for _, row := range rows {
		line, err := encode(row)
		if err != nil {
			return err
		}
		s.add(line)
	}
	return nil
}
