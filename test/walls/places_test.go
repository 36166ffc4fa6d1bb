package walls_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the pool by which sequences are moved

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/pgtest"
)

// The databases that every test runs on.
const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// master is a database that is created once and copied for every script. It contains acme; a
// crowded one also contains globex, created before acme.
type master struct {
	crowded bool
	once    sync.Once
	file    []byte
	err     error
}

var (
	alone   = &master{}
	crowded = &master{crowded: true}
)

func (m *master) name() string {
	if m.crowded {
		return "crowded"
	}
	return "alone"
}

// copied returns a copy of the master in a folder or on the server, and a function that releases
// it.
func (m *master) copied(ctx context.Context, database, dir string) (place, func(), error) {
	if database == postgres {
		url, giveBack, err := pgtest.Borrow(ctx, "walls_"+m.name(), func(url string) error { return m.fill(ctx, place{url, "pgx", url}) })
		return place{url, "pgx", url}, giveBack, err
	}
	m.once.Do(func() {
		folder, err := os.MkdirTemp("", "walls")
		if err != nil {
			m.err = err
			return
		}
		defer os.RemoveAll(folder)
		at := sqliteAt(filepath.Join(folder, "master.db"))
		if m.err = m.fill(ctx, at); m.err == nil {
			m.file, m.err = os.ReadFile(filepath.Join(folder, "master.db"))
		}
	})
	if m.err != nil {
		return place{}, nil, m.err
	}
	path := filepath.Join(dir, m.name()+".db")
	for _, more := range []string{"-wal", "-shm"} { // of the copy before
		if err := os.Remove(path + more); err != nil && !errors.Is(err, os.ErrNotExist) {
			return place{}, nil, err
		}
	}
	return sqliteAt(path), func() {}, os.WriteFile(path, m.file, 0o600)
}

// place has the URLs of a database, for the store and for a driver.
type place struct{ url, driver, source string }

func sqliteAt(path string) place { return place{"sqlite:" + path, "sqlite3", "file:" + path} }

// fill creates the schema and the organizations.
func (m *master) fill(ctx context.Context, at place) error {
	ctx = context.WithoutCancel(ctx)
	store, err := gormstore.Open(ctx, gormstore.Config{URL: at.url, AutoMigrate: true, Clock: clocks.At(morning), Keys: keys()})
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	if err := at.moveIDs(ctx, 0); err != nil {
		return err
	}
	if m.crowded {
		if err := found(ctx, at, theirs); err != nil {
			return err
		}
	}
	if err := at.moveIDs(ctx, ownIDs); err != nil {
		return err
	}
	return found(ctx, at, ours)
}

// moveIDs makes every table continue with ids that identify the table.
func (p place) moveIDs(ctx context.Context, from int) (err error) {
	pool, err := sql.Open(p.driver, p.source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	tables, err := p.tables(ctx)
	if err != nil {
		return err
	}
	move := `DELETE FROM sqlite_sequence WHERE name = '%[1]s'; INSERT INTO sqlite_sequence (name, seq) VALUES ('%[1]s', %[2]d)`
	if p.driver == "pgx" {
		move = `SELECT setval(pg_get_serial_sequence('%[1]s', 'id'), %[2]d)`
	}
	for k, table := range tables {
		if _, err := pool.ExecContext(ctx, fmt.Sprintf(move, table, (firstTable+k)*tableStride+max(from, firstForeign-1))); err != nil {
			return err
		}
	}
	return nil
}

// tables returns the tables whose ids the database assigns, sorted.
func (p place) tables(ctx context.Context) (all []string, err error) {
	pool, err := sql.Open(p.driver, p.source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	find := `SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' AND name NOT LIKE 'goose%' ORDER BY name`
	if p.driver == "pgx" {
		find = `SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND is_identity = 'YES' AND table_name NOT LIKE 'goose%'
			ORDER BY table_name COLLATE "C"`
	}
	rows, err := pool.QueryContext(ctx, find)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}
