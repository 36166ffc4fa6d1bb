package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

const (
	// postgresConnections is how many connections are opened at most unless the URL says pool_max_conns.
	postgresConnections = 16
	connectTimeout      = 5 * time.Second
)

// postgresEngine keeps everything on a Postgres server. One pool of connections serves GORM and the statements that need
// pgx itself.
type postgresEngine struct {
	pool  *pgxpool.Pool
	sqlDB *sql.DB // the pool, as database/sql knows it
	base  *gorm.DB
	now   func() time.Time
	keys  seal.Ring
	lane  chan struct{} // see retried
	part  int           // of numbers, for those who work
}

func openPostgres(ctx context.Context, source string, now func() time.Time, keys seal.Ring) (*postgresEngine, error) {
	config, err := pgxpool.ParseConfig(source)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the database URL is not one that Postgres understands") // it may hold a password
	}
	if u, err := url.Parse(source); err == nil && !u.Query().Has("pool_max_conns") {
		config.MaxConns = postgresConnections
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	parameters := config.ConnConfig.RuntimeParams
	if parameters["application_name"] == "" {
		parameters["application_name"] = "tocsin"
	}
	parameters["timezone"] = "UTC"
	config.AfterConnect = prepare
	e := &postgresEngine{now: now, keys: keys, lane: make(chan struct{}, 1), part: rand.N(parts)} //nolint:gosec // No secret.
	if e.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := e.pool.Ping(ctx); err != nil {
		e.pool.Close()
		return nil, err
	}
	e.sqlDB = stdlib.OpenDBFromPool(e.pool)
	// No PrepareStmt: pgx prepares and keeps statements itself, and twice is slower than once. To keep only their description and have
	// Postgres plan them each time (default_query_exec_mode=cache_describe) takes a fifth to a half of the register calls, and
	// gives nothing: what a plan that was made on empty tables would get wrong is settled in the statements (see unindexed, lookUp).
	e.base, err = gorm.Open(postgres.New(postgres.Config{Conn: e.sqlDB}), gormConfig(now))
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// prepare readies a new connection. Every statement of ours has an index to go by. Left to itself Postgres reads a nearly empty table
// from end to end instead, and keeps that plan (for the checks of foreign keys, too) while the table grows to millions. A bitmap
// scan is such a plan, too: it has no order, so for each page of a list all the rest of the list would be read and sorted. So are hash and
// merge joins: one of the two sides is read whole, where a few look-ups would do. The price that it puts on the plans it is to avoid would have
// it compile the statements that have no other; here that never pays.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
	_, err := conn.Exec(ctx, `SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off`)
	return err
}

// view takes the snapshot of one transaction, which the first statement sets.
func (e *postgresEngine) view(ctx context.Context, fn func(tx) error) error {
	return e.attempt(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, fn)
}

// update works on one snapshot, too (REPEATABLE READ). Of two units that write the same row Postgres lets the first
// commit and refuses the other, which then starts again from what the first left: no update is lost.
func (e *postgresEngine) update(ctx context.Context, fn func(tx) error) error {
	return e.retried(ctx, func() error {
		return e.attempt(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead}, fn)
	})
}

func (e *postgresEngine) attempt(ctx context.Context, options *sql.TxOptions, fn func(tx) error) error {
	t, err := e.sqlDB.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer t.Rollback() //nolint:errcheck // Without effect after a commit; else the server undoes what a lost connection leaves.
	part := e.part
	if options.Isolation != sql.LevelReadCommitted { // See parts.
		part = parts + rand.N(math.MaxInt32-parts) //nolint:gosec // No secret.
	}
	if err := fn(tx{session: bound(e.base, t), dialect: onPostgres, now: e.now, keys: e.keys, part: part}); err != nil {
		return err
	}
	return committed(t)
}

// committed commits. When the connection is lost meanwhile nobody knows whether that succeeded; all that can be said is that
// the unit may be repeated, as every write of the API may.
func committed(t *sql.Tx) error {
	if err := t.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (e *postgresEngine) enroll(
	ctx context.Context, org string, b users.Batch, also func(tx, []users.Enrolled) error,
) (done []users.Enrolled, err error) {
	err = e.retried(ctx, func() error {
		done, err = e.enrollOnce(ctx, org, b, also)
		return err
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

func (e *postgresEngine) enrollOnce(
	ctx context.Context, org string, b users.Batch, also func(tx, []users.Enrolled) error,
) ([]users.Enrolled, error) {
	t, err := e.sqlDB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, err
	}
	defer t.Rollback() //nolint:errcheck // As in attempt.
	done, err := enroll(ctx, setConn{conn: t, dialect: onPostgres}, e.now(), org, b)
	if err != nil {
		return nil, err
	}
	if err := also(tx{session: bound(e.base, t), dialect: onPostgres, now: e.now, keys: e.keys}, done); err != nil {
		return nil, err
	}
	return done, committed(t)
}

func (e *postgresEngine) close() error {
	err := e.sqlDB.Close()
	e.pool.Close()
	return err
}
