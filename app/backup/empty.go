package backup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tocsin/tocsin/ports"
)

// used are the tables that show whether an installation was used, each with the number of rows that
// it has in a new installation. Every use shows in one of them or in the audit log.
var used = map[string]int{"organizations": 1, "users": 0, "accounts": 0, "api_keys": 0, "occurrences": 0, "audit_entries": 0}

// Unused reports whether an installation has never been used. Its schema may be older than this
// program's.
func Unused(ctx context.Context, store ports.CopyStore) (unused bool, err error) {
	err = store.ReadTables(ctx, func(tables ports.Tables, _ ports.Tx) error {
		err := checkUnused(ctx, tables)
		unused = err == nil
		if errors.Is(err, ErrNotEmpty) {
			return nil
		}
		return err
	})
	return unused, err
}

// empty removes the rows of a new installation. It returns ErrNotEmpty when the database has been
// used, and ErrServed.
func empty(ctx context.Context, tables ports.Tables, tx ports.Tx, now time.Time) error {
	if err := checkUnused(ctx, tables); err != nil {
		return err
	}
	if err := checkUnserved(ctx, tx, now); err != nil {
		return err
	}
	return clearAll(ctx, tables)
}

// checkUnserved returns ErrServed while a worker uses the database. It would learn that the
// installation is held only after it has found messages to send.
func checkUnserved(ctx context.Context, tx ports.Tx, now time.Time) error {
	workers, err := tx.Statistics().Workers(ctx)
	for _, w := range workers {
		if !w.Lost(now) {
			return ErrServed.With("the instance %q uses the database: stop all instances first, and wait a minute after one was killed", w.Instance)
		}
	}
	return err
}

// clearAll removes all rows.
func clearAll(ctx context.Context, tables ports.Tables) error {
	for _, t := range slices.Backward(tables.Tables()) {
		if err := tables.Clear(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// checkUnused returns ErrNotEmpty when a database has been used.
func checkUnused(ctx context.Context, tables ports.Tables) error {
	for _, t := range tables.Tables() {
		most, limited := used[t.Name]
		if !limited {
			continue
		}
		more, err := tables.Exceeds(ctx, t, most)
		if err != nil {
			return err
		}
		if more {
			return ErrNotEmpty.With("the database is not empty: there are %s; a copy is restored into an empty database only", t.Name)
		}
	}
	return nil
}
