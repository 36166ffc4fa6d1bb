package gormstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// workChannel is the notification channel of the instances that share a Postgres database.
	workChannel = "tocsin_work"
	// proofInterval is how often the connection that listens has to prove that it leads to a
	// server.
	proofInterval = 5 * time.Second
)

// work is update on SQLite, where one unit writes at a time.
func (e *sqliteEngine) work(ctx context.Context, fn func(tx) error) error { return e.update(ctx, fn) }

// notify does nothing: a database in a file has one instance. Work that another process adds, such
// as an import, waits until the next poll.
func (e *sqliteEngine) notify(context.Context) error { return nil }

func (e *sqliteEngine) listen(context.Context, func()) error { return nil }

// work runs fn at READ COMMITTED, where rows that another worker has locked are skipped instead of
// waited for, and a row that it changed is seen as it is now.
func (e *postgresEngine) work(ctx context.Context, fn func(tx) error) error {
	return e.retried(ctx, func() error { return e.attempt(ctx, freshPlans, fn) })
}

func (e *postgresEngine) notify(ctx context.Context) error {
	_, err := e.pool.Exec(ctx, "SELECT pg_notify($1, '')", workChannel)
	return err
}

// listen calls notified for every notification, and once at the beginning because there may have
// been some before. It has a connection of its own, so that it takes none from the pool, and
// returns when that is lost or ctx ends. A connection on which nobody has anything to say looks
// like one that leads nowhere, so it has to prove every few seconds that the server is there.
func (e *postgresEngine) listen(ctx context.Context, notified func()) (err error) {
	conn, err := pgx.ConnectConfig(ctx, e.direct)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	if _, err := conn.Exec(paced(ctx, paceBrief), "LISTEN "+workChannel); err != nil {
		return err
	}
	notified()
	for {
		came, err := awaitNotification(ctx, conn)
		if err != nil {
			return err
		}
		if came {
			notified()
		}
	}
}

// awaitNotification waits for a notification, or for proofInterval and then for the server's answer
// to a ping.
func awaitNotification(ctx context.Context, conn *pgx.Conn) (came bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, proofInterval)
	defer cancel()
	_, err = conn.WaitForNotification(waiting)
	if err == nil || ctx.Err() != nil || waiting.Err() == nil || conn.IsClosed() {
		return err == nil, err
	}
	proving, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	return false, conn.Ping(proving)
}
