package gormstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
)

// newsChannel is what instances that share a Postgres database listen to.
const newsChannel = "tocsin_work"

// work is update on SQLite, where one unit writes at a time.
func (e *sqliteEngine) work(ctx context.Context, fn func(tx) error) error { return e.update(ctx, fn) }

// notify does nothing: a database in a file has one instance. Another process, such as an import, has no work to tell of that
// could not wait until the next look.
func (e *sqliteEngine) notify(context.Context) error { return nil }

func (e *sqliteEngine) hear(context.Context, func()) error { return nil }

// work runs fn at READ COMMITTED, where rows that another worker has locked are passed over instead of waited for, and one that
// it changed is seen as it is now. Its statements are planned each time, for the values they have: what is known of a table that grows from
// nothing to a million rows within seconds is always wrong, and a plan that reads all of it would be made once and kept.
func (e *postgresEngine) work(ctx context.Context, fn func(tx) error) error {
	return e.retried(ctx, func() error {
		return e.attempt(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}, func(t tx) error {
			if err := t.db(ctx).Exec("SET LOCAL plan_cache_mode = force_custom_plan").Error; err != nil {
				return err
			}
			return fn(t)
		})
	})
}

func (e *postgresEngine) notify(ctx context.Context) error {
	_, err := e.pool.Exec(ctx, "SELECT pg_notify($1, '')", newsChannel)
	return err
}

// hear calls heard for every notification, and once at the beginning because there may have been some before. It has a connection of its
// own, so that it takes none from the pool, and returns when that is lost or ctx ends.
func (e *postgresEngine) hear(ctx context.Context, heard func()) (err error) {
	conn, err := pgx.ConnectConfig(ctx, e.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+newsChannel); err != nil {
		return err
	}
	heard()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		heard()
	}
}
