package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

// ErrInUse says that what happens while an installation is copied would be lost.
var ErrInUse = fault.New(fault.Invalid, "the source is in use; `tocsin maintenance on` makes it read-only")

// Settled is how long an installation must have been read-only before it is copied: by then all of
// its instances know.
const Settled = 3 * time.Second

// Copy fills an empty database with everything of another one, which must be read-only: all of it,
// or nothing. What was written is read again and compared before it is kept. Nothing of the copy is
// sent until it is released.
func Copy(ctx context.Context, from, to ports.Carrier, by audit.Actor, now time.Time) (done Summary, err error) {
	has, err := from.Version(ctx)
	if err != nil {
		return done, fmt.Errorf("the source: %w", err)
	}
	takes, err := to.Version(ctx)
	if err != nil {
		return done, fmt.Errorf("the destination: %w", err)
	}
	if has != takes {
		return done, ErrSchema.With("the source has the schema %d, and the destination has %d", has, takes)
	}
	done.Taken = now
	var begun bool
	err = to.WriteTables(ctx, func(target ports.Tables, tx ports.Tx) error {
		if begun {
			return errors.New("the destination had to begin again; repeat the command")
		}
		begun = true
		var since time.Time
		err := from.ReadTables(ctx, func(source ports.Tables, tx ports.Tx) (err error) {
			if since, err = still(ctx, source, tx, now); err != nil {
				return err
			}
			done.Tables, err = copyTables(ctx, source, target)
			return err
		})
		if err == nil {
			err = stayed(ctx, from, since)
		}
		if err != nil {
			return err
		}
		return hold(ctx, tx, by, now, done)
	})
	return done, err
}

// copyTables copies all tables to a destination that is empty.
func copyTables(ctx context.Context, from, to ports.Tables) (all []Counted, err error) {
	if err := empty(ctx, to); err != nil {
		return nil, err
	}
	for _, t := range from.Tables() {
		counted, err := copyTable(ctx, from, to, t)
		if err != nil {
			return nil, err
		}
		all = append(all, counted)
	}
	return all, nil
}

// stayed returns nil when the source has been read-only without a break since a moment; ErrInUse.
// The snapshot that was copied does not show it.
func stayed(ctx context.Context, from ports.Carrier, since time.Time) error {
	return from.ReadTables(ctx, func(_ ports.Tables, tx ports.Tx) error {
		state, err := tx.Installation().State(ctx)
		if err == nil && !state.ReadOnly.Equal(since) {
			err = ErrInUse.With("the source was not read-only all the while, and what happened there would be lost; nothing was copied")
		}
		return err
	})
}

// still returns since when nothing more happens in an installation; ErrInUse.
func still(ctx context.Context, source ports.Tables, tx ports.Tx, now time.Time) (since time.Time, err error) {
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
	sending, err := source.Sending(ctx)
	if err == nil && sending > 0 {
		err = ErrInUse.With("the source is still sending %d messages, whose outcome would be lost; repeat the command in a moment", sending)
	}
	return state.ReadOnly, err
}

// page is a part of a table, or why it could not be read.
type page struct {
	rows [][]any
	err  error
}

// copyTable copies a table, reading ahead of what it writes, and checks that what is there now is
// what was read.
func copyTable(ctx context.Context, from, to ports.Tables, t ports.Table) (Counted, error) {
	ctx, stop := context.WithCancel(ctx)
	pages := make(chan page, 1)
	var read sum
	go func() {
		defer close(pages)
		err := each(ctx, from, t, func(rows [][]any) error {
			err := read.take(rows)
			if err == nil {
				err = send(ctx, pages, page{rows: rows})
			}
			return err
		})
		if err != nil {
			_ = send(ctx, pages, page{err: err}) // Nobody waits for it any more.
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
			return Counted{}, p.err
		}
		if len(p.rows) > 0 {
			if err := to.Insert(ctx, t, p.rows); err != nil {
				return Counted{}, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return Counted{}, err
	}
	if t.Numbered {
		last, err := from.Last(ctx, t)
		if err == nil {
			err = to.SetLast(ctx, t, last)
		}
		if err != nil {
			return Counted{}, err
		}
	}
	var written sum
	if err := each(ctx, to, t, written.take); err != nil {
		return Counted{}, err
	}
	if written != read {
		return Counted{}, fmt.Errorf("%s: %d rows were read and %d are there, or their sums differ; nothing was copied", t.Name, read.rows, written.rows)
	}
	return Counted{t.Name, read.rows, read.String()}, nil
}

func send(ctx context.Context, to chan<- page, p page) error {
	select {
	case to <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take adds rows.
func (s *sum) take(rows [][]any) error {
	for _, row := range rows {
		line, err := encode(row)
		if err != nil {
			return err
		}
		s.add(line)
	}
	return nil
}
