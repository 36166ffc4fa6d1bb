package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/tocsin/tocsin/domain/fault"
)

//go:embed migrations
var migrations embed.FS

// The faults of a schema that is not this program's. An operator settles them, waiting does not.
var (
	ErrSchemaBehind = fault.New(fault.Unavailable, "the database schema is older than this program; `tocsin migrate up` brings it up to date")
	ErrSchemaNewer  = fault.New(fault.Unavailable, "the database schema is newer than this program, which would damage it; use the newer program")
)

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string    // empty for a step that only the database knows
	Applied time.Time // zero: not yet
}

// history is what a database remembers of its migrations: when it has seen which version.
type history map[int64]time.Time

// Ready tells whether the database answers and its schema is this program's; ports.ErrUnavailable, ErrSchemaBehind, ErrSchemaNewer.
func (s *Store) Ready(ctx context.Context) error {
	all, err := s.Status(ctx)
	if err != nil {
		return err
	}
	return compare(all)
}

// Status lists the migrations of this program, and those that only the database knows, by version.
func (s *Store) Status(ctx context.Context) (all []Migration, err error) {
	err = s.call(func() error {
		h, err := s.engine.applied(ctx)
		if err == nil {
			all, err = status(h)
		}
		return err
	})
	return all, err
}

// Migrate brings the schema up to date. Instances that do so at the same time, in whatever process, wait for each other.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.Ready(ctx); !errors.Is(err, ErrSchemaBehind) {
		return err
	}
	err := s.call(func() error {
		done, err := s.engine.migrate(ctx)
		for _, m := range done {
			s.logger.InfoContext(ctx, "database migrated", slog.String("migration", path.Base(m.Source.Path)),
				slog.Duration("duration", m.Duration))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return s.Ready(ctx) // what another instance did meanwhile included
}

// status joins what the program knows with what the database remembers.
func status(h history) ([]Migration, error) {
	files, err := fs.Glob(migrations, path.Join("migrations", onSQLite.String(), "*.sql")) // both folders hold the same names
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{Version: version, Name: strings.TrimSuffix(path.Base(file), ".sql"), Applied: h[version]})
		delete(h, version)
	}
	for version, applied := range h {
		all = append(all, Migration{Version: version, Applied: applied})
	}
	slices.SortFunc(all, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
	return all, nil
}

func compare(all []Migration) error {
	if slices.ContainsFunc(all, func(m Migration) bool { return m.Name == "" }) {
		return ErrSchemaNewer
	}
	if slices.ContainsFunc(all, func(m Migration) bool { return m.Applied.IsZero() }) {
		return ErrSchemaBehind
	}
	return nil
}

// readHistory asks a database what it remembers; nothing, when it has never been migrated.
func readHistory(ctx context.Context, db *sql.DB, exists string) (h history, err error) {
	h = history{}
	var migrated bool
	if err := db.QueryRowContext(ctx, exists).Scan(&migrated); err != nil || !migrated {
		return h, err
	}
	rows, err := db.QueryContext(ctx, "SELECT version_id, tstamp FROM goose_db_version WHERE is_applied AND version_id > 0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version int64
		var applied time.Time
		if err := rows.Scan(&version, &applied); err != nil {
			return nil, err
		}
		h[version] = applied
	}
	return h, rows.Err()
}

// up applies the migrations of a dialect that db has not seen.
func up(ctx context.Context, db *sql.DB, d dialect, options ...goose.ProviderOption) ([]*goose.MigrationResult, error) {
	folder, err := fs.Sub(migrations, path.Join("migrations", d.String()))
	if err != nil {
		return nil, err
	}
	kind := goose.DialectSQLite3
	if d == onPostgres {
		kind = goose.DialectPostgres
	}
	options = append(options, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	p, err := goose.NewProvider(kind, db, folder, options...)
	if err != nil {
		return nil, err
	}
	return p.Up(ctx)
}
