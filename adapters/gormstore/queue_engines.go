package gormstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// workChannel is the notification channel of the instances that share a Postgres database.
	workChannel = "tocsin_work"
	// pingInterval is how often the listening connection pings the server.
	pingInterval = 5 * time.Second
)

// work is update: on SQLite only one unit writes at a time.
func (e *sqliteEngine) work(ctx context.Context, fn func(tx) error) error { return e.update(ctx, fn) }

func (e *sqliteEngine) workAsync(ctx context.Context, fn func(tx) error) error {
	return e.update(ctx, fn)
}

// notify does nothing: SQLite has one instance. Work added by another process, such as an import,
// waits until the next poll.
func (e *sqliteEngine) notify(context.Context) error { return nil }

func (e *sqliteEngine) listen(context.Context, func()) error { return nil }

// maintainPartitions does nothing: SQLite has no partitions.
func (e *sqliteEngine) maintainPartitions(context.Context, time.Time, *slog.Logger) (int64, error) {
	return noBound, nil
}

// work runs fn at READ COMMITTED, where statements can skip rows that another worker has locked,
// and see the current state of rows that it has changed.
func (e *postgresEngine) work(ctx context.Context, fn func(tx) error) error {
	return e.change(ctx, readCommitted, fn)
}

func (e *postgresEngine) workAsync(ctx context.Context, fn func(tx) error) error {
	return e.change(ctx, readCommittedAsync, fn)
}

// useCustomPlans plans the following statements of the unit for their values.
func (t tx) useCustomPlans(ctx context.Context) error { return t.setPlans(ctx, customPlans) }

// useGenericPlans caches the plans of the following statements of the unit.
func (t tx) useGenericPlans(ctx context.Context) error { return t.setPlans(ctx, genericPlans) }

func (t tx) setPlans(ctx context.Context, s setting) error {
	if t.dialect != onPostgres {
		return nil
	}
	return t.db(deferred(ctx)).Exec(setLocal(s)).Error
}

// notify does not wait for the disk: a lost notification only delays work, and the flush of its
// commit would delay other commits.
func (e *postgresEngine) notify(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue(setLocal(asyncCommit))
	batch.Queue("SELECT pg_notify($1, $2)", workChannel, e.id)
	return e.pool.SendBatch(ctx, batch).Close()
}

// listen calls notified for every notification of another instance, and once at the start because
// some may have been missed. It uses its own connection, not one of the pool, and returns when that
// is lost or ctx ends. It pings the server every few seconds, because an idle connection looks like
// a dead one.
func (e *postgresEngine) listen(ctx context.Context, notified func()) (err error) {
	conn, err := pgx.ConnectConfig(ctx, e.direct)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	if _, err := conn.Exec(withTimeoutClass(ctx, timeoutShort), "LISTEN "+workChannel); err != nil {
		return err
	}
	notified()
	for {
		came, err := awaitNotification(ctx, conn)
		if err != nil {
			return err
		}
		if came != nil && came.Payload != e.id {
			notified()
		}
	}
}

// awaitNotification waits for a notification, or for pingInterval and then for the server's answer
// to a ping.
func awaitNotification(ctx context.Context, conn *pgx.Conn) (came *pgconn.Notification, err error) {
	waiting, cancel := context.WithTimeout(ctx, pingInterval)
	defer cancel()
	came, err = conn.WaitForNotification(waiting)
	if err == nil || ctx.Err() != nil || waiting.Err() == nil || conn.IsClosed() {
		return came, err
	}
	proving, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return nil, conn.Ping(proving)
}
