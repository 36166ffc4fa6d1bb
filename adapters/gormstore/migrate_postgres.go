package gormstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3"
)

const (
	// migrationLock is the advisory lock of those who migrate, a number that nobody else is likely to use.
	migrationLock  = 0x746f6373696e // "tocsin"
	migrationPause = 50 * time.Millisecond
)

func (e *postgresEngine) applied(ctx context.Context) (history, error) {
	return readHistory(paced(ctx, paceBrief), e.sqlDB, "SELECT to_regclass('goose_db_version') IS NOT NULL")
}

// migrate runs each step in a transaction of its own, all of them under a lock of the session, which ends with its holder,
// however that one ends. A step takes as long as it takes. Connections that were used for it are not kept: their plans for the checks of
// foreign keys were made without plannerSettings.
func (e *postgresEngine) migrate(ctx context.Context) ([]*goose.MigrationResult, error) {
	defer e.pool.Reset()
	return up(paced(ctx, paceUnlimited), e.sqlDB, onPostgres, goose.WithSessionLocker(advisoryLock{}))
}

// advisoryLock keeps instances that migrate apart.
type advisoryLock struct{}

// SessionLock asks again and again instead of waiting within one statement: that would hold a snapshot for as long, which a
// migration that builds an index concurrently in turn waits for.
func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	again := time.NewTicker(migrationPause)
	defer again.Stop()
	for {
		var locked bool
		err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&locked)
		if err != nil || locked {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// SessionUnlock gives the lock back.
func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
	return err
}
