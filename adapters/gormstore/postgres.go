package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync/atomic"
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

// DefaultConnections is the maximum of open connections unless Config or the URL sets another.
const DefaultConnections = 16

// postgresEngine is the engine of a Postgres server. GORM and the statements that need pgx share
// one connection pool.
type postgresEngine struct {
	pool            *pgxpool.Pool
	sqlDB           *sql.DB // the pool as a database/sql handle
	base            *gorm.DB
	now             func() time.Time
	keys            seal.Ring
	limits          *limits
	beginStatements map[transactionKind][]string
	direct          *pgx.ConnConfig // for the connection that listens for notifications
	retrySlot       chan struct{}   // see retried
	counterPart     int             // of counters, for work; see counterParts
	id              string          // of this instance, sent with its notifications
	grown           growingTables

	maintenance   maintenance  // of the partitions of deliveries
	partitionRows int64        // see the constant
	analyzed      atomic.Int64 // how many deliveries there were when they were last analyzed

	serverClock bool
}

// isolation is how a transaction is isolated from others.
type isolation int

const (
	repeatableRead isolation = iota
	repeatableReadOnly
	// readCommitted sees what others commit meanwhile.
	readCommitted
	// readCommittedAsync does not wait for the disk when it commits. It is for work that is
	// repeated when it is lost. A later commit that depends on it waits for both.
	readCommittedAsync
)

// begin returns the statement that begins a transaction.
func (i isolation) begin() string {
	switch i {
	case repeatableRead:
		return "BEGIN ISOLATION LEVEL REPEATABLE READ"
	case repeatableReadOnly:
		return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	case readCommitted, readCommittedAsync:
	}
	return "BEGIN ISOLATION LEVEL READ COMMITTED"
}

const (
	// customPlans plans each execution for its values. The statistics of a table that grows to a
	// million rows within seconds are always wrong, and a cached plan might scan all of it.
	customPlans setting = "plan_cache_mode=force_custom_plan"
	// genericPlans caches plans. It is for statements that look up a few rows by their keys, for
	// which planning takes longer than execution.
	genericPlans setting = "plan_cache_mode=force_generic_plan"
)

// planSettings returns how Postgres plans the statements of a transaction; nil: its default.
func planSettings(i isolation, p timeoutClass) []setting {
	switch {
	case p == timeoutShort || i == readCommittedAsync:
		return []setting{genericPlans}
	case i == readCommitted:
		return []setting{customPlans}
	}
	return nil
}

// transactionKind is a kind of transaction.
type transactionKind struct {
	isolation isolation
	timeout   timeoutClass
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
	e := &postgresEngine{now: now, serverClock: c.ServerClock, keys: c.Keys, direct: direct.ConnConfig, retrySlot: make(chan struct{}, 1),
		counterPart: rand.N(counterParts), partitionRows: partitionRows, id: strconv.FormatUint(rand.Uint64(), 36)} //nolint:gosec // Not a secret.
	e.limits = &limits{short: cmp.Or(c.StatementTimeout, DefaultStatementTimeout), traced: c.Traced, reset: func() { e.pool.Reset() }}
	e.beginStatements = e.limits.beginStatements()
	e.limits.apply(config)
	e.limits.applyTo(direct.ConnConfig)
	if e.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := e.ping(ctx); err != nil {
		e.pool.Close()
		return nil, err
	}
	e.sqlDB = sql.OpenDB(pipelineConnector{stdlib.GetPoolConnector(e.pool)})
	e.sqlDB.SetMaxIdleConns(0) // The pool keeps them.
	// No PrepareStmt: pgx prepares and caches statements itself. With
	// default_query_exec_mode=cache_describe, which plans each execution, a fifth to a half fewer
	// register calls were measured. It would not help either: the statements avoid bad plans made
	// on empty tables (see unindexed, lookUp).
	e.base, err = gorm.Open(postgres.New(postgres.Config{Conn: e.sqlDB}), gormConfig(now))
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// poolConfig parses a URL. It sets only session parameters that a pooler in transaction mode
// supports.
func poolConfig(source string, connections int) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(source)
	if err != nil {
		return nil, urlError(err)
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

// urlError says what is wrong with a URL, without the URL: it may contain a password. A file that
// it names, such as that of sslrootcert, may be the fault.
func urlError(err error) error {
	if file, is := errors.AsType[*fs.PathError](err); is {
		return fault.New(fault.Invalid, fmt.Sprintf("a file that the database URL names cannot be read: %s", file))
	}
	return fault.New(fault.Invalid, "the database URL is not a valid one for PostgreSQL")
}

// ping checks whether the server answers.
func (e *postgresEngine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	return e.pool.Ping(ctx)
}

// view runs fn on one snapshot, which the first statement takes.
func (e *postgresEngine) view(ctx context.Context, fn func(tx) error) error {
	return e.attempt(ctx, repeatableReadOnly, fn)
}

// update also runs fn on one snapshot (REPEATABLE READ). If two units write the same row, Postgres
// rejects the second one, which is retried on a new snapshot: no update is lost.
func (e *postgresEngine) update(ctx context.Context, fn func(tx) error) error {
	return e.change(ctx, repeatableRead, fn)
}

// change runs a unit that writes, and then analyzes the tables that have grown.
func (e *postgresEngine) change(ctx context.Context, i isolation, fn func(tx) error) error {
	err := e.retried(ctx, func() error { return e.attempt(ctx, i, fn) })
	if err == nil {
		e.analyzeGrown(ctx)
	}
	return err
}

func (e *postgresEngine) attempt(ctx context.Context, i isolation, fn func(tx) error) error {
	part := e.counterPart
	if i == repeatableRead || i == repeatableReadOnly { // See counterParts.
		part = counterParts + rand.N(math.MaxInt32-counterParts) //nolint:gosec // Not a secret.
	}
	return e.transaction(ctx, i, func(conn session) error {
		return fn(tx{session: sessionOn(e.base, spanned(ctx, conn)), dialect: onPostgres, now: e.now, serverClock: e.serverClock, keys: e.keys, counterPart: part, grown: &e.grown})
	})
}

// transaction runs fn in a transaction, and commits unless fn fails or panics.
func (e *postgresEngine) transaction(ctx context.Context, i isolation, fn func(session) error) error {
	conn, err := e.sqlDB.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	brief := withTimeoutClass(ctx, timeoutShort)
	s, err := begin(conn, e.beginStatements[transactionKind{i, timeoutClassOf(ctx)}])
	if err != nil {
		return err
	}
	defer s.end(context.WithoutCancel(brief))
	if err := fn(s); err != nil {
		return err
	}
	// If the connection is lost now, nobody knows whether the server committed. The caller may
	// repeat the unit, as it may repeat every write of the API.
	if err := s.commit(brief); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (e *postgresEngine) close() error {
	e.maintenance.end()
	err := e.sqlDB.Close()
	e.pool.Close()
	return err
}
