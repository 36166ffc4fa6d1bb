package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
)

const (
	// migrationLock is the key of the advisory lock for migrations, which other programs probably
	// do not use.
	migrationLock  = 0x746f6373696e // "tocsin"
	migrationPause = 50 * time.Millisecond
	// lockTimeout is how long a migration waits for the lock of a table, lockPause the pause before
	// it retries, and lockAttempts the maximum number of attempts: they take some minutes.
	lockTimeout  = 2 * time.Second
	lockPause    = time.Second
	lockAttempts = 100
	// lockNotAvailable is the SQLSTATE when lockTimeout expires.
	lockNotAvailable = "55P03"
)

func (e *postgresEngine) applied(ctx context.Context) (history, error) {
	return readHistory(withTimeoutClass(ctx, timeoutShort), e.sqlDB, "SELECT to_regclass('goose_db_version') IS NOT NULL")
}

// migrate runs each migration in its own transaction, all of them under an advisory lock of the
// session, which the server releases when the session ends. A migration has no timeout, but waits
// only briefly for the lock of a table, because other sessions queue behind it. Then it pauses and
// retries. It also retries after a deadlock. The pool closes the connections used for it: they have
// planned the checks of foreign keys without plannerSettings.
func (e *postgresEngine) migrate(ctx context.Context, logger *slog.Logger) (done []*goose.MigrationResult, err error) {
	defer e.pool.Reset()
	lock := &advisoryLock{}
	watched, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { e.logBlockers(watched, logger, lock.session.Load, blockersInterval) })
	defer watcher.Wait()
	defer stop()
	err = retryLocked(ctx, lockAttempts, func() error {
		some, err := up(withTimeoutClass(ctx, timeoutNone), e.sqlDB, onPostgres, goose.WithSessionLocker(lock))
		done = append(done, some...)
		if stopped, is := errors.AsType[*goose.PartialError](err); is {
			done = append(done, stopped.Applied...)
		}
		return err
	}, lockNotAvailable, deadlockDetected)
	if state := sqlState(err); state == lockNotAvailable || state == deadlockDetected {
		err = errTablesInUse
	}
	return done, err
}

// retryLocked calls attempt at most tries times, with a pause of lockPause in between, while its
// error has one of these states. It returns the last error.
func retryLocked(ctx context.Context, tries int, attempt func() error, states ...string) error {
	for n := 1; ; n++ {
		err := attempt()
		if n == tries || !slices.Contains(states, sqlState(err)) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause): // Others get the lock meanwhile.
		}
	}
}

// errTablesInUse means that a migration could not lock a table.
var errTablesInUse = errors.New("a table was in use whenever the migration wanted to change it: look for long transactions (pg_stat_activity), and repeat `tocsin migrate up`")

// advisoryLock serializes instances that migrate.
type advisoryLock struct {
	session atomic.Int32 // the process id of the session that migrates, or waits for it
}

// SessionLock polls. A statement that waits would hold a snapshot, and a migration that creates an
// index concurrently waits for all snapshots.
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
			_, err = conn.ExecContext(ctx, "SET lock_timeout = "+strconv.FormatInt(lockTimeout.Milliseconds(), 10))
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

// SessionUnlock releases the lock.
func (*advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
	_, reset := conn.ExecContext(ctx, "RESET lock_timeout")
	return errors.Join(err, reset)
}
