package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Every database of a run is called tocsin_test_RUN_NAME. The id of the run shows whether a
// database belongs to a live run, or was left behind by a killed one.
const (
	prefix   = "tocsin_test_"
	idLength = 8
	longest  = 63 // PostgreSQL cuts longer names off, silently
)

const noSuchDatabase = "3D000"

// Run is the databases of one test run on one server: of a single test binary, or of all those that
// run below one withpostgres.
type Run struct {
	server   url.URL
	id       string
	strategy string    // how this server copies a database fastest, in SQL
	presence *pgx.Conn // shows other runs that this one is alive; nil where another process shows it

	mu   sync.Mutex
	idle map[string][]string // databases that are not in use, by template
}

// Open begins a run on a server and first drops what dead runs left there. The run lives until
// Close, or until this process ends.
func Open(ctx context.Context, server string) (*Run, error) {
	id := strings.ToLower(rand.Text()[:idLength])
	r, err := join(ctx, server, id)
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(server)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = prefix + id
	if r.presence, err = pgx.ConnectConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := r.sweep(ctx); err != nil {
		return nil, errors.Join(err, r.presence.Close(ctx))
	}
	return r, nil
}

// join takes part in a run that another process has opened.
func join(ctx context.Context, server, id string) (*Run, error) {
	address, err := url.Parse(server)
	if err != nil || address.Scheme != "postgres" && address.Scheme != "postgresql" {
		return nil, fmt.Errorf("%s must be a URL such as postgres://user:password@localhost:5432/postgres", ServerVariable)
	}
	r := &Run{server: *address, id: id}
	// Copying files is twice as fast as logging the copy, unless each copy waits for the disk.
	err = r.admin(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT CASE WHEN current_setting('server_version_num')::int >= 150000
			AND current_setting('fsync') = 'off' THEN ' STRATEGY file_copy' ELSE '' END`).Scan(&r.strategy)
	})
	return r, err
}

// ID names the run: give it to other processes in RunVariable, and they take part in it.
func (r *Run) ID() string { return r.id }

// Close drops every database of the run.
func (r *Run) Close(ctx context.Context) error {
	names, err := r.names(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, r.name(""))
	for _, name := range names {
		err = errors.Join(err, r.drop(ctx, name))
	}
	return errors.Join(err, r.presence.Close(ctx))
}

// sweep drops the databases of runs that ended without dropping them. Such a run no longer has a
// session on the server, so sweep does not depend on clocks.
func (r *Run) sweep(ctx context.Context) error {
	names, err := r.names(ctx, `SELECT datname FROM pg_database AS d
		WHERE starts_with(datname, $1) AND pg_get_userbyid(datdba) = current_user AND NOT EXISTS
			(SELECT FROM pg_stat_activity WHERE application_name = left(d.datname, $2))`, prefix, len(prefix)+idLength)
	for _, name := range names {
		err = errors.Join(err, r.drop(ctx, name))
	}
	return err
}

// clone copies a template, which it makes where it is missing.
func (r *Run) clone(ctx context.Context, template string, migrate func(dsn string) error) (string, error) {
	source := r.name(template)
	if len(source+draft) > longest {
		return "", fmt.Errorf("a template's name has at most %d characters: %q", longest-len(r.name(draft)), template)
	}
	name, err := r.copyOf(ctx, source)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == noSuchDatabase {
		if err := r.makeTemplate(ctx, source, migrate); err != nil {
			return "", fmt.Errorf("template %s: %w", template, err)
		}
		return r.copyOf(ctx, source)
	}
	return name, err
}

// draft is the end of a template's name while it is created.
const draft = "_draft"

// makeTemplate makes a template database unless another process is faster. It gets its name when it
// is complete, so that no incomplete one is copied.
func (r *Run) makeTemplate(ctx context.Context, template string, migrate func(dsn string) error) error {
	return r.admin(ctx, func(conn *pgx.Conn) error {
		// The lock is held until the connection is closed.
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, template); err != nil {
			return err
		}
		var made bool
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, template).Scan(&made); err != nil || made {
			return err
		}
		unfinished := template + draft
		// A process that died while it made the template may have left one.
		if err := r.drop(ctx, unfinished); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, `CREATE DATABASE `+quote(unfinished)+` TEMPLATE template0`); err != nil {
			return err
		}
		if err := migrate(r.dsn(unfinished)); err != nil {
			return err
		}
		// A database with open connections cannot be copied.
		if _, err := conn.Exec(ctx, `ALTER DATABASE `+quote(unfinished)+` ALLOW_CONNECTIONS false`); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, unfinished); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, `ALTER DATABASE `+quote(unfinished)+` RENAME TO `+quote(template))
		return err
	})
}

// copyOf makes a new database, a copy of source, and returns its name.
func (r *Run) copyOf(ctx context.Context, source string) (string, error) {
	name := r.name(strings.ToLower(rand.Text()[:12]))
	return name, r.admin(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE DATABASE `+quote(name)+` TEMPLATE `+quote(source)+r.strategy)
		return err
	})
}

func (r *Run) drop(ctx context.Context, name string) error {
	return r.admin(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+quote(name)+` WITH (FORCE)`)
		return err
	})
}

func (r *Run) names(ctx context.Context, query string, args ...any) (names []string, err error) {
	err = r.admin(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return names, err
}

// admin calls do with a connection to the server's maintenance database.
func (r *Run) admin(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, r.server.String())
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(ctx))
}

func (r *Run) name(rest string) string { return prefix + r.id + "_" + rest }

func (r *Run) dsn(name string) string {
	address := r.server
	address.Path = "/" + name
	return address.String()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
