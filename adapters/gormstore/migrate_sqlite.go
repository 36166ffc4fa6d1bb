package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"
)

func (e *sqliteEngine) applied(ctx context.Context) (history, error) {
	return readHistory(ctx, e.readPool, "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version')")
}

// migrate runs all migrations in one immediate transaction, so that an upgrade is atomic. Its write
// lock serializes processes, and is released when the process ends. Other processes wait for it as
// long as it takes.
//
// Foreign keys are off in this transaction, because most changes of a table create a new one. They
// are checked at the end.
func (e *sqliteEngine) migrate(ctx context.Context, logger *slog.Logger) (done []*goose.MigrationResult, err error) {
	conn, err := e.writePool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	unhurried := context.WithoutCancel(ctx)
	run := func(statement string) {
		if err == nil {
			_, err = conn.ExecContext(unhurried, statement)
		}
	}
	defer func() {
		_, on := conn.ExecContext(unhurried, "PRAGMA foreign_keys = on")
		err = errors.Join(err, on, conn.Close())
	}()
	defer rollback(conn) // no effect after the commit
	run("PRAGMA foreign_keys = off")
	if err == nil {
		err = beginAlone(ctx, conn, logger)
	}
	if err != nil {
		return nil, err
	}
	err = conn.Raw(func(c any) error {
		db := sql.OpenDB(singleConn{c.(sqliteConn).SQLiteConn})
		done, err = up(ctx, db, onSQLite)
		return errors.Join(err, db.Close())
	})
	if err == nil {
		err = checkForeignKeys(unhurried, conn)
	}
	run("COMMIT")
	return done, err
}

// beginAlone begins an immediate transaction as soon as no other process writes, or returns the
// error of ctx. It polls without the busy timeout, which a migration of another process may exceed,
// and during which the end of ctx has no effect.
func beginAlone(ctx context.Context, conn *sql.Conn, logger *slog.Logger) (err error) {
	unhurried := context.WithoutCancel(ctx)
	defer func() {
		_, restored := conn.ExecContext(unhurried, "PRAGMA busy_timeout = "+busyTimeout)
		err = errors.Join(err, restored)
	}()
	if _, err := conn.ExecContext(unhurried, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	again, look := time.NewTicker(migrationPause), time.NewTicker(blockersInterval)
	defer again.Stop()
	defer look.Stop()
	quiet := 0
	for {
		_, err := conn.ExecContext(unhurried, "BEGIN IMMEDIATE")
		if lite, is := errors.AsType[sqlite3.Error](err); !is || lite.Code != sqlite3.ErrBusy {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			if quiet--; quiet < 0 {
				logger.WarnContext(ctx, "a migration waits for another process, which writes to the database")
				quiet = blockersSkipped
			}
		case <-again.C:
		}
	}
}

func checkForeignKeys(ctx context.Context, conn *sql.Conn) error {
	var broken int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM pragma_foreign_key_check").Scan(&broken); err != nil {
		return err
	}
	if broken > 0 {
		return errors.New("the migration left rows that refer to nothing")
	}
	return nil
}

// singleConn makes one connection with an open transaction look like a database to goose. Its
// transactions are savepoints.
type singleConn struct{ *sqlite3.SQLiteConn }

var (
	_ driver.Connector   = singleConn{}
	_ driver.ConnBeginTx = singleConn{}
)

func (l singleConn) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (l singleConn) Driver() driver.Driver                        { return &sqlite3.SQLiteDriver{} }

// Close does nothing: the caller owns the connection.
func (l singleConn) Close() error { return nil }

func (l singleConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	_, err := l.Exec("SAVEPOINT migration", nil)
	return l, err
}

func (l singleConn) Commit() error {
	_, err := l.Exec("RELEASE migration", nil)
	return err
}

func (l singleConn) Rollback() error {
	_, err := l.Exec("ROLLBACK TO migration; RELEASE migration", nil)
	return err
}
