package gormstore

import (
	"cmp"
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
)

// DefaultConnections is how many connections are opened at most unless Config or the URL says
// otherwise.
const DefaultConnections = 16

// postgresEngine keeps everything on a Postgres server. One pool of connections serves GORM and the
// statements that need pgx itself.
type postgresEngine struct {
	pool   *pgxpool.Pool
	sqlDB  *sql.DB // the pool, as database/sql knows it
	base   *gorm.DB
	now    func() time.Time
	keys   seal.Ring
	limits *limits
	begins map[beginning]string
	direct *pgx.ConnConfig // of the connection that listens for notifications
	lane   chan struct{}   // see retried
	part   int             // of numbers, for those who work

	serverClock bool
}

// isolation is what a transaction begins with.
type isolation string

const (
	snapshot         isolation = "BEGIN ISOLATION LEVEL REPEATABLE READ"
	snapshotReadOnly isolation = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	// freshPlans has statements planned each time, for the values they have: what is known of a
	// table that grows from nothing to a million rows within seconds is always wrong, and a plan
	// that reads all of it would be made once and kept. Each sees what others commit meanwhile.
	freshPlans isolation = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL plan_cache_mode = force_custom_plan"
)

// beginning is a kind of transaction.
type beginning struct {
	isolation isolation
	pace      pace
}

func openPostgres(ctx context.Context, c Config, now func() time.Time) (*postgresEngine, error) {
	config, err := poolConfig(c.URL, c.MaxConnections)
	if err != nil {
		return nil, err
	}
	direct := config
	if c.NotifyURL != "" {
		if direct, err = poolConfig(c.NotifyURL, c.MaxConnections); err != nil {
			return nil, err
		}
	}
	e := &postgresEngine{now: now, serverClock: c.ServerClock, keys: c.Keys, direct: direct.ConnConfig, lane: make(chan struct{}, 1),
		part: rand.N(parts)} //nolint:gosec // No secret.
	e.limits = &limits{brief: cmp.Or(c.StatementTimeout, DefaultStatementTimeout), traced: c.Traced, reset: func() { e.pool.Reset() }}
	e.begins = e.limits.beginnings()
	e.limits.apply(config)
	e.limits.applyTo(direct.ConnConfig)
	if e.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := e.ping(ctx); err != nil {
		e.pool.Close()
		return nil, err
	}
	e.sqlDB = stdlib.OpenDBFromPool(e.pool)
	// No PrepareStmt: pgx prepares and keeps statements itself, and twice is slower than once. To
	// keep only their description and have Postgres plan them each time
	// (default_query_exec_mode=cache_describe) takes a fifth to a half of the register calls, and
	// gives nothing: what a plan that was made on empty tables would get wrong is settled in the
	// statements (see unindexed, lookUp).
	e.base, err = gorm.Open(postgres.New(postgres.Config{Conn: e.sqlDB}), gormConfig(now))
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// poolConfig reads a URL. Session parameters are only those that a pooler in transaction mode keeps
// for each of its clients.
func poolConfig(source string, connections int) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(source)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the database URL is not a valid one for PostgreSQL") // it may hold a password
	}
	if u, err := url.Parse(source); err == nil && !u.Query().Has("pool_max_conns") {
		config.MaxConns = int32(cmp.Or(connections, DefaultConnections))
	}
	parameters := config.ConnConfig.RuntimeParams
	if parameters["application_name"] == "" {
		parameters["application_name"] = "tocsin"
	}
	parameters["timezone"] = "UTC"
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
			Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		return nil
	}
	return config, nil
}

// ping asks whether the server is there.
func (e *postgresEngine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	return e.pool.Ping(ctx)
}

// view takes the snapshot of one transaction, which the first statement sets.
func (e *postgresEngine) view(ctx context.Context, fn func(tx) error) error {
	return e.attempt(ctx, snapshotReadOnly, fn)
}

// update works on one snapshot, too (REPEATABLE READ). Of two units that write the same row
// Postgres lets the first commit and refuses the other, which then starts again from what the first
// left: no update is lost.
func (e *postgresEngine) update(ctx context.Context, fn func(tx) error) error {
	return e.retried(ctx, func() error { return e.attempt(ctx, snapshot, fn) })
}

func (e *postgresEngine) attempt(ctx context.Context, i isolation, fn func(tx) error) error {
	part := e.part
	if i == snapshot || i == snapshotReadOnly { // See parts.
		part = parts + rand.N(math.MaxInt32-parts) //nolint:gosec // No secret.
	}
	return e.transaction(ctx, i, func(conn session) error {
		return fn(tx{session: bound(e.base, spanned(ctx, conn)), dialect: onPostgres, now: e.now, serverClock: e.serverClock, keys: e.keys, part: part})
	})
}

// transaction runs fn in a transaction on a connection of its own, and commits unless fn fails or
// panics.
func (e *postgresEngine) transaction(ctx context.Context, i isolation, fn func(session) error) error {
	conn, err := e.sqlDB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var t pgx.Tx
	brief := paced(ctx, paceBrief)
	err = conn.Raw(func(c any) (err error) {
		t, err = c.(*stdlib.Conn).Conn().BeginTx(brief, pgx.TxOptions{BeginQuery: e.begins[beginning{i, paceOf(ctx)}]})
		return err
	})
	if err != nil {
		return err
	}
	// Without effect after a commit. Where it fails the connection is closed, and the server undoes
	// what is left.
	defer conn.Raw(func(any) error { return t.Rollback(context.WithoutCancel(brief)) }) //nolint:errcheck // See above.
	if err := fn(session{conn}); err != nil {
		return err
	}
	// When the connection is lost meanwhile nobody knows whether the commit succeeded. All that can
	// be said is that the unit may be repeated, as every write of the API may.
	if err := conn.Raw(func(any) error { return t.Commit(brief) }); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// session runs the statements of a transaction. It keeps those of a caller that has gone from the
// driver, whose answer to them has database/sql close the connection.
type session struct{ *sql.Conn }

// ExecContext runs a statement without a result.
func (s session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Conn.ExecContext(ctx, query, args...)
}

// QueryContext runs a query.
func (s session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Conn.QueryContext(ctx, query, args...)
}

func (e *postgresEngine) close() error {
	err := e.sqlDB.Close()
	e.pool.Close()
	return err
}
