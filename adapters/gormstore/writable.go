package gormstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tocsin/tocsin/ports"
)

// fullFor is how long a disk counts as full after a write failed for that reason. The small write
// of tryWrite may succeed when a larger one fails.
const fullFor = 10 * time.Second

// Writable returns nil when the database accepts writes; ports.ErrReadOnly, ports.ErrFull,
// ports.ErrReplaced, ports.ErrUnavailable.
func (s *Store) Writable(ctx context.Context) error {
	err := s.call(func() error { return s.engine.tryWrite(withTimeoutClass(ctx, timeoutShort)) })
	if found := s.fullAt.Load(); err == nil && found > 0 && time.Since(time.Unix(0, found)) < fullFor {
		return ports.ErrFull
	}
	return err
}

// tryWrite sets an unused number in the header of the file to its current value. Like every change,
// that writes a page.
func (e *sqliteEngine) tryWrite(ctx context.Context) error {
	return e.update(ports.Small(ctx), func(t tx) error { return t.db(ctx).Exec("PRAGMA user_version = 0").Error })
}

// tryWrite writes a logical decoding message, which nobody reads. It takes no lock and needs no
// table. Its commit waits for the disk and for a synchronous standby, like any other.
func (e *postgresEngine) tryWrite(ctx context.Context) error {
	for range 2 {
		var written bool
		err := e.pool.QueryRow(ctx, `SELECT CASE WHEN pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN FALSE
			ELSE pg_logical_emit_message(TRUE, 'tocsin', '') IS NOT NULL END`, pgx.QueryExecModeSimpleProtocol).Scan(&written)
		if err != nil || written {
			return err
		}
		e.pool.Reset() // A new connection may reach another server.
	}
	return ports.ErrReadOnly
}
