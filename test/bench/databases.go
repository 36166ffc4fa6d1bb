package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "github.com/mattn/go-sqlite3"    // the driver sqlite3

	"github.com/tocsin/tocsin/adapters/gormstore"
)

// The databases.
const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// database is a temporary database of the program.
type database struct {
	kind   string
	url    string // as the program gets it
	server string // Postgres: where it was made
	name   string // Postgres: what it is called there
}

// newDatabase creates an empty database.
func newDatabase(ctx context.Context, o options, kind string) (database, error) {
	name := "tocsin_bench_" + strings.ToLower(rand.Text()[:8])
	if kind == sqlite {
		return database{kind: kind, url: "sqlite:" + filepath.Join(o.dir, name, "tocsin.db")}, nil
	}
	d := database{kind: kind, server: o.postgres, name: name}
	address, err := url.Parse(o.postgres)
	if err != nil {
		return database{}, err
	}
	address.Path = "/" + name
	d.url = address.String()
	return d, onServer(ctx, o.postgres, "CREATE DATABASE "+name)
}

// drop removes the database, also when ctx has ended.
func (d database) drop(ctx context.Context) error {
	if d.kind == sqlite {
		return os.RemoveAll(filepath.Dir(d.path()))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return onServer(ctx, d.server, "DROP DATABASE "+d.name+" WITH (FORCE)")
}

// settle makes a server do its deferred writes, so that they do not slow the next measurement. If
// our role may not do that, it does nothing.
func (d database) settle(ctx context.Context) error {
	if d.kind == sqlite {
		return nil
	}
	if err := onServer(ctx, d.server, "CHECKPOINT"); !isForbidden(err) {
		return err
	}
	return nil
}

// isForbidden reports whether a server said that our role may not do that.
func isForbidden(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "42501"
}

func onServer(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// withSchema creates the program's schema in an empty database, as the program does.
func (d database) withSchema(ctx context.Context) error {
	store, err := gormstore.Open(ctx, gormstore.Config{URL: d.url, AutoMigrate: true, Clock: wall{}})
	if err != nil {
		return err
	}
	return store.Close()
}

// open opens the database without the program. On SQLite there is one connection, with the settings
// of the program's writer.
func (d database) open() (*sql.DB, error) {
	if d.kind == postgres {
		return sql.Open("pgx", d.url)
	}
	pool, err := sql.Open("sqlite3", "file:"+d.path()+"?_foreign_keys=on&_busy_timeout=5000&_cache_size=-16384&_journal_mode=WAL&_synchronous=FULL&_txlock=immediate")
	if err == nil {
		pool.SetMaxOpenConns(1)
	}
	return pool, err
}

// held runs a function while another transaction keeps its snapshot, as pg_dump does. The server
// cannot remove row versions that were deleted since then.
func (d database) held(ctx context.Context, do func() error) error {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
	if err == nil {
		err = do()
	}
	return errors.Join(err, conn.Close(ctx))
}

// path returns the file of a SQLite database.
func (d database) path() string { return strings.TrimPrefix(d.url, "sqlite:") }

// scanList reads every member of every list in one query, with the columns that the program shows.
// It checks the number of members.
func (d database) scanList(ctx context.Context, want int) (err error) {
	pool, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	rows, err := pool.QueryContext(ctx, `SELECT s.id, a.value, m.username, c.name, s.active
		FROM list_entries AS e JOIN assignments AS s ON s.id = e.assignment_id JOIN channels AS c ON c.id = s.channel_id
		JOIN addresses AS a ON a.id = s.address_id JOIN members AS m ON m.id = a.member_id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var id int64
	var address, username, name string
	var active bool
	n := 0
	for ; rows.Next(); n++ {
		if err := rows.Scan(&id, &address, &username, &name, &active); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("the list has %d members instead of %d", n, want)
	}
	return nil
}

// countPeople returns the number of users, members and addresses, which must be equal.
func countPeople(ctx context.Context, pool *sql.DB, want int) error {
	for _, table := range []string{"users", "members", "addresses"} {
		var n int
		if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return err
		}
		if n != want {
			return fmt.Errorf("there are %d %s instead of %d", n, table, want)
		}
	}
	return nil
}
