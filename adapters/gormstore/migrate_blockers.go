package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"
)

const (
	// blockersInterval is how often the sessions that block a migration are looked up.
	// blockersSkipped is how many look-ups are skipped after one was logged, so that they are
	// logged every ten seconds.
	blockersInterval = time.Second
	blockersSkipped  = 9
	// blockersSQL finds the sessions that a session ($1) waits for, or that hold the lock ($2) it
	// tries to take. It omits their statements, which may contain personal data.
	blockersSQL = `SELECT a.pid, COALESCE(a.application_name, ''), COALESCE(a.usename, ''), COALESCE(a.state, ''),
		COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start), 0)::float8
	FROM pg_stat_activity a
	WHERE a.pid <> $1 AND (a.pid = ANY (pg_blocking_pids($1)) OR a.pid IN (
		SELECT l.pid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
			AND l.classid::bigint = $2::bigint >> 32 AND l.objid::bigint = $2::bigint & 4294967295
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())))
	ORDER BY a.xact_start LIMIT 3`
)

// blocker is a session that another one waits for.
type blocker struct {
	pid                      int32
	application, user, state string
	seconds                  float64 // of its transaction
}

// logBlockers logs the sessions that a migration waits for, until the context ends.
func (e *postgresEngine) logBlockers(ctx context.Context, logger *slog.Logger, session func() int32, every time.Duration) {
	look := time.NewTicker(every)
	defer look.Stop()
	quiet := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if quiet > 0 {
			quiet--
			continue
		}
		found, err := blockers(withTimeoutClass(ctx, timeoutShort), e.sqlDB, session())
		if err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "the sessions that block a migration could not be found", slog.Any("error", translate(err)))
			quiet = blockersSkipped
		}
		for _, b := range found {
			logger.WarnContext(ctx, "a migration waits for another session", slog.Int("pid", int(b.pid)), slog.String("application", b.application),
				slog.String("user", b.user), slog.String("state", b.state), slog.Duration("transaction_age", time.Duration(b.seconds*float64(time.Second))))
			quiet = blockersSkipped
		}
	}
}

func blockers(ctx context.Context, db *sql.DB, session int32) (found []blocker, err error) {
	rows, err := db.QueryContext(ctx, blockersSQL, session, int64(migrationLock))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var b blocker
		if err := rows.Scan(&b.pid, &b.application, &b.user, &b.state, &b.seconds); err != nil {
			return nil, err
		}
		found = append(found, b)
	}
	return found, rows.Err()
}
