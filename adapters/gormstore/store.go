// Package gormstore stores everything on SQLite or Postgres. Single rows are inserted, updated and
// deleted through GORM. SQL by hand is for sets of rows, and for a single row whose values or
// conditions come from other tables. The package knows both databases' behaviour and keeps the
// promises of ports.Store on each; the rules about the data belong to the domain.
package gormstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/tocsin/tocsin/adapters/gormstore/rows"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

var _ ports.Store = (*Store)(nil)

var (
	errURL    = fault.New(fault.Invalid, "the database URL must be sqlite:PATH or postgres://…")
	errClosed = ports.ErrUnavailable.With("the database is closed") // returned by calls after Close
)

// Config says which database to open and how.
type Config struct {
	// URL is `sqlite:PATH`, `sqlite::memory:` or `postgres://…`, whose parameter `pool_max_conns`
	// overrides MaxConnections.
	URL string
	// MaxConnections is the maximum number of connections to Postgres, without the one that
	// listens. 0: DefaultConnections.
	MaxConnections int
	// MustExist refuses a missing SQLite file instead of creating it; ErrNoFile. Open also refuses
	// a database without a schema; ErrNoSchema.
	MustExist bool
	// AutoMigrate brings the schema up to date. Without it, Open refuses a schema that is behind.
	AutoMigrate bool
	// StatementTimeout is the timeout of a Postgres statement on a few rows. Statements on large
	// sets of rows may take three times as long. 0: DefaultStatementTimeout.
	StatementTimeout time.Duration
	// NotifyURL is the database for the connection that listens for notifications of other
	// instances, if URL is a pooler that cannot pass them on. Empty: URL.
	NotifyURL string
	// Clock provides the stored times.
	Clock ports.Clock
	// ServerClock makes the clock of a Postgres server decide when deliveries are due, and when
	// leases and the pauses of channels end. Without it Clock does, which then must be the same for
	// all users of the database.
	ServerClock bool
	// Keys encrypt the settings of channels. Without a key, channels cannot be stored, or read with
	// their settings; everything else works.
	Keys seal.Ring
	// Traced creates a span for each unit of work and each statement whose context has one.
	Traced bool
	// Logger logs migrations; nil: they are not logged.
	Logger *slog.Logger
}

// Store is the storage port on one database.
type Store struct {
	engine   engine
	notifier *notifier
	turns    *turns
	// qualities are the recent results of this instance's attempts.
	qualities  *qualities
	duplicates duplicateAddresses
	names      resolvedNames
	logger     *slog.Logger
	traced     bool

	schema atomic.Pointer[rows.Rows] // the tables, after they were read once

	// lookedEntries and lookedMessages are the last organizations in which Purge looked for some.
	lookedEntries, lookedMessages atomic.Int64

	fullAt atomic.Int64 // when a write last found the disk full, in Unix nanoseconds

	mu     sync.RWMutex // guards closed: no call begins after it is set
	closed bool
	calls  sync.WaitGroup
}

// engine is the part that differs between the two databases. Its errors are not translated.
type engine interface {
	view(ctx context.Context, fn func(tx) error) error
	update(ctx context.Context, fn func(tx) error) error
	// work is update for sets of rows that other workers also process: it may skip locked rows.
	work(ctx context.Context, fn func(tx) error) error
	// workAsync is work whose commit does not wait for the disk. A crash of the machine may lose
	// it, and then it is repeated.
	workAsync(ctx context.Context, fn func(tx) error) error
	// notify notifies other instances of new work. listen calls notified for each notification of
	// another instance, until ctx ends; it returns nil if there are no other instances.
	notify(ctx context.Context) error
	listen(ctx context.Context, notified func()) error
	applied(ctx context.Context) (history, error)
	migrate(ctx context.Context, logger *slog.Logger) ([]*goose.MigrationResult, error)
	estimate(ctx context.Context, plan []Planned) error
	dialect() dialect
	// maintainPartitions drops old partitions of deliveries and adds new ones. It returns the id of
	// the occurrence below which Purge deletes rows; noBound: all old rows.
	maintainPartitions(ctx context.Context, oldBefore time.Time, log *slog.Logger) (below int64, err error)
	// tryWrite commits a write that changes nothing.
	tryWrite(ctx context.Context) error
	pools() []Pool
	close() error
}

// Open opens the database and checks that the program works with its schema. It returns
// ErrSchemaBehind, ErrSchemaNewer, ports.ErrUnavailable, the errors of Config.MustExist, or the
// error of an invalid URL.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.MustExist {
		err = s.CheckSchemaExists(ctx)
	}
	switch {
	case err != nil:
	case c.AutoMigrate:
		err = s.Migrate(ctx)
	default:
		err = s.Ready(ctx)
	}
	if err != nil {
		_ = s.Close() // The error of opening says more.
		return nil, err
	}
	return s, nil
}

// Connect opens the database without a check of its schema, for the commands that migrate it.
func Connect(ctx context.Context, c Config) (*Store, error) {
	now := func() time.Time { return stamp(c.Clock.Now()) }
	scheme, rest, _ := strings.Cut(c.URL, ":")
	s := &Store{logger: c.Logger, turns: newTurns(c.Clock), qualities: newQualities(c.Clock), traced: c.Traced}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	var err error
	switch {
	case rest == "":
		return nil, errURL
	case scheme == "sqlite":
		s.engine, err = openSQLite(ctx, rest, c, now)
	case scheme == "postgres", scheme == "postgresql":
		s.engine, err = openPostgres(ctx, c, now)
	default:
		return nil, errURL
	}
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", translate(err))
	}
	s.notifier = newNotifier(s.engine, s.logger)
	return s, nil
}

// View runs fn on one consistent snapshot.
func (s *Store) View(ctx context.Context, fn func(ports.Tx) error) error {
	if outer, within := unitOf(ctx); within {
		return fn(outer)
	}
	return s.unit(ctx, "view", func(ctx context.Context) error {
		return s.call(func() error {
			return s.engine.view(ctx, func(t tx) error { return fn(s.withQualities(t)) })
		})
	})
}

// Update runs fn as a unit of work, as if no other ran.
func (s *Store) Update(ctx context.Context, fn func(ports.Tx) error) error {
	if outer, within := unitOf(ctx); within {
		return outer.within(ctx, fn)
	}
	return s.unit(ctx, "update", func(ctx context.Context) error {
		return s.announce(s.notifier.notify, func(added *bool) error {
			return s.engine.update(ctx, func(t tx) error { return t.announcing(added).atOneTime().indexing(ctx, fn) })
		})
	})
}

// Close waits for running calls, then closes the database. Later calls return ports.ErrUnavailable.
func (s *Store) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	if already {
		return nil
	}
	s.notifier.close()
	return s.engine.close()
}

// call runs a call of the port unless the store is closed, and translates its error.
func (s *Store) call(run func() error) error {
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return errClosed
	}
	s.calls.Add(1)
	s.mu.RUnlock()
	defer s.calls.Done()
	err := translate(run())
	if errors.Is(err, ports.ErrFull) {
		s.fullAt.Store(time.Now().UnixNano())
	}
	return err
}

// announce is call for operations that may add work. If they do, it calls notify after the commit.
func (s *Store) announce(notify func(), run func(added *bool) error) error {
	return s.call(func() error {
		var added bool
		err := run(&added)
		if err == nil && added {
			notify()
		}
		return err
	})
}
