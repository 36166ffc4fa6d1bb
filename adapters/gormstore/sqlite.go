package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-sqlite3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

const (
	inMemory = ":memory:"
	// sqliteReaders is the maximum number of concurrent Views.
	sqliteReaders = 8
	// commonParams are the parameters of every connection. The busy timeout is for the write lock
	// of another process, such as an import beside the server. The statement cache spares preparing
	// the same statements again. Connections have no mutex, because only one goroutine at a time
	// calls a connection of database/sql: without it, long lists are read in an eighth less time.
	commonParams = "_mutex=no&_foreign_keys=on&_busy_timeout=" + busyTimeout + "&_stmt_cache_size=128"
	busyTimeout  = "5000" // in milliseconds
	// The writer has a cache of 16 MiB, each reader one of 4 MiB. Larger caches were not faster,
	// because the system caches the file too.
	writerParams = commonParams + "&_cache_size=-16384&_txlock=immediate"
	readerParams = commonParams + "&_cache_size=-4096&mode=ro&_query_only=on"
	// autoCheckpoint has the log copied to the file after 4,000 pages instead of 1,000, because
	// pages that change often are then copied less often. A source has no parameter for it.
	autoCheckpoint = "PRAGMA wal_autocheckpoint = 4000"
)

// ErrNoFile is returned for a missing SQLite file that must not be created.
var ErrNoFile = fault.New(fault.Invalid, "there is no SQLite database at this path")

// sqliteEngine stores everything in one file. One connection, owned by the writer, writes; others
// read concurrently, which the write-ahead log allows. A database in memory has one connection for
// both.
type sqliteEngine struct {
	base      *gorm.DB
	now       func() time.Time
	keys      seal.Ring
	writePool *sql.DB
	readPool  *sql.DB
	writer    *writer
	traced    bool        // see Config
	path      string      // of the file; empty: the database is in memory
	file      os.FileInfo // as it was opened
}

func openSQLite(ctx context.Context, path string, c Config, now func() time.Time) (*sqliteEngine, error) {
	e := &sqliteEngine{now: now, keys: c.Keys, traced: c.Traced}
	var err error
	if path == inMemory {
		e.writePool = e.openPool("file::memory:?"+writerParams, 1)
		e.readPool = e.writePool
	} else {
		err = e.openFile(path, c.MustExist)
	}
	if err != nil {
		return nil, err
	}
	e.base, err = gorm.Open(&sqlite.Dialector{Conn: e.writePool}, gormConfig(now))
	if err == nil && path != inMemory {
		err = e.checkModes(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), e.closePools())
	}
	e.writer = startWriter(e.writePool, e.checkFile) //nolint:contextcheck // It outlives this call.
	return e, nil
}

// openFile creates the file, readable only by its owner, and its folder. SQLite creates its other
// files with the same mode.
func (e *sqliteEngine) openFile(path string, mustExist bool) error {
	path, err := filepath.Abs(path) // The working directory may change before later connections.
	if err != nil {
		return err
	}
	if mustExist {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return ErrNoFile.With("there is no SQLite database at %s; check the path", path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if e.file, err = file.Stat(); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	e.path = path
	// FULL: an acknowledged write is on disk.
	source := (&url.URL{Scheme: "file", Path: path}).String() + "?"
	e.writePool = e.openPool(source+writerParams+"&_journal_mode=WAL&_synchronous=FULL", 1)
	e.readPool = e.openPool(source+readerParams, sqliteReaders)
	return nil
}

// errReplaced is the error of a file that is no longer at its path. What is written to it is lost
// with the process.
var errReplaced = errors.New("the file at the path of the database is not the one that was opened")

// checkFile returns errReplaced if the file was moved, removed or replaced since it was opened.
func (e *sqliteEngine) checkFile() error {
	if e.path == "" {
		return nil
	}
	found, err := os.Stat(e.path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && !os.SameFile(e.file, found):
		return errReplaced
	}
	return err
}

func (e *sqliteEngine) openPool(source string, connections int) *sql.DB {
	pool := sql.OpenDB(connector{source, e.traced})
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool
}

// connector opens connections to a file. When they close they keep the write-ahead log, emptied,
// and its index: without them the file cannot be read, and a full disk has no room to create them.
type connector struct {
	source string
	traced bool
}

// Connect opens a connection.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver().Open(c.source)
	if err != nil {
		return nil, err
	}
	return sqliteConn{conn.(*sqlite3.SQLiteConn), c.traced}, nil
}

// Driver returns the driver.
func (c connector) Driver() driver.Driver { return c.driver() }

func (c connector) driver() *sqlite3.SQLiteDriver {
	return &sqlite3.SQLiteDriver{ConnectHook: func(conn *sqlite3.SQLiteConn) error {
		if _, err := conn.Exec(autoCheckpoint, nil); err != nil {
			return err
		}
		return conn.SetFileControlInt("main", sqlite3.SQLITE_FCNTL_PERSIST_WAL, 1)
	}}
}

func gormConfig(now func() time.Time) *gorm.Config {
	return &gorm.Config{
		SkipDefaultTransaction: true,
		TranslateError:         true,
		DisableAutomaticPing:   true,
		Logger:                 logger.Discard, // an error is logged once, where it is handled
		NowFunc:                now,
	}
}

// checkModes returns an error if the file system does not support the write-ahead log, as some
// network file systems: SQLite would silently use a mode in which readers and the writer block each
// other. It also returns one if the file was created for another encoding than UTF-8, because
// statements count bytes of texts.
func (e *sqliteEngine) checkModes(ctx context.Context) error {
	var journal, encoding string
	if err := e.writePool.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return err
	}
	if journal != "wal" {
		return fmt.Errorf("the file system of the database does not support SQLite's write-ahead log (journal mode %q)", journal)
	}
	if err := e.writePool.QueryRowContext(ctx, "PRAGMA encoding").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF-8" {
		return fmt.Errorf("the database was created with the encoding %s: only UTF-8 is supported", encoding)
	}
	return nil
}

func (e *sqliteEngine) view(ctx context.Context, fn func(tx) error) error {
	conn, err := e.readPool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// These statements take no time, and ROLLBACK must run even if ctx has ended.
	unhurried := context.WithoutCancel(ctx)
	if e.readPool == e.writePool {
		if _, err := conn.ExecContext(unhurried, "PRAGMA query_only = on"); err != nil {
			return err
		}
		defer conn.ExecContext(unhurried, "PRAGMA query_only = off") //nolint:errcheck // A pragma that only sets a flag.
	}
	if _, err := conn.ExecContext(unhurried, "BEGIN"); err != nil {
		return err
	}
	defer rollback(conn)
	return fn(e.newTx(ctx, conn, false))
}

func (e *sqliteEngine) update(ctx context.Context, fn func(tx) error) error {
	return e.writer.do(ctx, ports.IsSmall(ctx), func(conn *sql.Conn) error { return fn(e.newTx(ctx, conn, true)) })
}

// newTx returns a unit of work on a connection.
func (e *sqliteEngine) newTx(ctx context.Context, conn *sql.Conn, shielded bool) tx {
	return tx{session: sessionOn(e.base, spanned(ctx, conn)), dialect: onSQLite, now: e.now, keys: e.keys, uninterruptible: shielded}
}

// sessionOn returns a session whose statements all run on one connection.
func sessionOn(base *gorm.DB, conn gorm.ConnPool) *gorm.DB {
	s := base.Session(&gorm.Session{NewDB: true, Context: context.Background()})
	s.Statement.ConnPool = conn
	return s
}

func (e *sqliteEngine) close() error {
	e.writer.stop()
	// The log must be empty: SQLite would apply it to a copy that replaces the file. While the file
	// is open, the log keeps its size, because overwriting it is faster.
	_, err := e.writePool.ExecContext(context.Background(), "PRAGMA journal_size_limit = 0")
	return errors.Join(err, e.closePools())
}

// closePools closes the readers first, because the last connection empties the log only if it may
// write.
func (e *sqliteEngine) closePools() error {
	var err error
	for _, pool := range []*sql.DB{e.readPool, e.writePool} {
		if pool != nil {
			err = errors.Join(err, pool.Close())
		}
	}
	return err
}
