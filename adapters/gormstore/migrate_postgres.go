package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
)

const (
	// migrationLock is the advisory lock of those who migrate, a number that nobody else is likely
	// to use.
	migrationLock  = 0x746f6373696e // "tocsin"
	migrationPause = 50 * time.Millisecond
	// lockWait is how long a migration waits for the lock of a table, lockPause how long it lets
	// others work before it tries again, and lockTries how often it does so: for some minutes.
	lockWait  = 2 * time.Second
	lockPause = time.Second
	lockTries = 100
	// lockNotAvailable is what Postgres answers after lockWait.
	lockNotAvailable = "55P03"
)

func (e *postgresEngine) applied(ctx context.Context) (history, error) {
	return readHistory(paced(ctx, paceBrief), e.sqlDB, "SELECT to_regclass('goose_db_version') IS NOT NULL")
}

// migrate runs each step in a transaction of its own, all of them under a lock of the session,
// which ends with its holder, however that one ends. A step takes as long as it takes, but waits
// shortly for those who use its tables: others would wait behind it. Then it lets them pass, and
// tries again. It also tries again when Postgres ends it because they wait for each other.
// Connections that were used for it are not kept: their plans for the checks of foreign keys were
// made without plannerSettings.
func (e *postgresEngine) migrate(ctx context.Context, logger *slog.Logger) (done []*goose.MigrationResult, err error) {
	defer e.pool.Reset()
	lock := &advisoryLock{}
	watched, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { e.tellBlockers(watched, logger, lock.session.Load, blockersLook) })
	defer watcher.Wait()
	defer stop()
	again := time.NewTicker(lockPause)
	defer again.Stop()
	for range lockTries {
		some, err := up(paced(ctx, paceUnlimited), e.sqlDB, onPostgres, goose.WithSessionLocker(lock))
		done = append(done, some...)
		if stopped, is := errors.AsType[*goose.PartialError](err); is {
			done = append(done, stopped.Applied...)
		}
		if state := sqlState(err); state != lockNotAvailable && state != deadlockDetected {
			return done, err
		}
		select {
		case <-ctx.Done():
			return done, ctx.Err()
		case <-again.C:
		}
	}
	return done, errTablesInUse
}

// errTablesInUse is why a migration gives up.
var errTablesInUse = errors.New("a table was in use whenever the migration wanted to change it: look for long transactions (pg_stat_activity), and repeat `tocsin migrate up`")

// advisoryLock keeps instances that migrate apart.
type advisoryLock struct {
	session atomic.Int32 // the process id of the session that migrates, or waits for it
}

// SessionLock asks again and again instead of waiting within one statement: that would hold a
// snapshot for as long, which a migration that builds an index concurrently in turn waits for.
func (l *advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var session int32
	if err := conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&session); err != nil {
		return err
	}
	l.session.Store(session)
	again := time.NewTicker(migrationPause)
	defer again.Stop()
	for {
		var locked bool
		err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&locked)
		if err == nil && locked {
			_, err = conn.ExecContext(ctx, "SET lock_timeout = "+strconv.FormatInt(lockWait.Milliseconds(), 10))
		}
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
func (*advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
	_, reset := conn.ExecContext(ctx, "RESET lock_timeout")
	return errors.Join(err, reset)
}
