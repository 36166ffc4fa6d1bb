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
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/ports"
)

//go:embed migrations
var migrations embed.FS

// The errors of a schema that does not fit this program. An operator must resolve them.
var (
	ErrSchemaBehind = fault.New(fault.Unavailable, "the database schema is older than this program; `tocsin migrate up` brings it up to date")
	ErrSchemaNewer  = fault.New(fault.Unavailable, "the database schema is newer than this program, which would damage it; use the newer program")
	ErrNoSchema     = fault.New(fault.Invalid, "there is no installation in this database: its schema is missing; check the address")
	errDiverged     = ErrSchemaNewer.With("the database has migrations of a newer program, and lacks some of this one; use the newer program")
)

// Migration is one migration of the schema.
type Migration struct {
	Version int64
	Name    string    // empty if only the database knows it
	Applied time.Time // zero: not yet
}

// history is the migrations recorded in a database.
type history struct {
	applied map[int64]time.Time // when each version was applied
	// compatible is the newest migration of the oldest program that works with this schema; 0: not
	// recorded. Migrations that remove something increase it.
	compatible int64
}

// compatibleSince is the migration that introduced the record of compatible programs.
const compatibleSince = 38

// compatibleNone makes every program refuse the schema, including those from before copies.
const compatibleNone = math.MaxInt64

// Ready reports whether the database answers and this program works with its schema, which may be
// newer if it is recorded as compatible; ports.ErrUnavailable, ErrSchemaBehind, ErrSchemaNewer,
// ports.ErrIncomplete.
func (s *Store) Ready(ctx context.Context) error {
	all, compatible, err := s.status(ctx)
	if err != nil {
		return err
	}
	return compare(all, compatible)
}

// CheckSchemaExists returns ErrNoSchema if no migration has been applied to the database.
func (s *Store) CheckSchemaExists(ctx context.Context) error {
	return s.call(func() error {
		h, err := s.engine.applied(ctx)
		if err == nil && len(h.applied) == 0 {
			err = ErrNoSchema
		}
		return err
	})
}

// Status returns the migrations of this program and those recorded in the database, by version.
func (s *Store) Status(ctx context.Context) ([]Migration, error) {
	all, _, err := s.status(ctx)
	return all, err
}

func (s *Store) status(ctx context.Context) (all []Migration, compatible int64, err error) {
	err = s.call(func() error {
		h, err := s.engine.applied(ctx)
		if err == nil {
			all, err = status(h.applied)
		}
		compatible = h.compatible
		return err
	})
	return all, compatible, err
}

// Migrate brings the schema up to date. Instances that migrate at the same time wait for each
// other.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.Ready(ctx); !errors.Is(err, ErrSchemaBehind) {
		return err
	}
	err := s.call(func() error {
		done, err := s.engine.migrate(ctx, s.logger)
		for _, m := range done {
			s.logger.InfoContext(ctx, "database migrated", slog.String("migration", path.Base(m.Source.Path)),
				slog.Duration("duration", m.Duration))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return s.Ready(ctx) // including what another instance did meanwhile
}

// status merges the program's migrations with those recorded in the database.
func status(h map[int64]time.Time) ([]Migration, error) {
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

func compare(all []Migration, compatible int64) error {
	var newest int64 // of this program
	var newer, behind bool
	for _, m := range all {
		if m.Name == "" {
			newer = true
			continue
		}
		newest, behind = m.Version, behind || m.Applied.IsZero()
	}
	switch {
	case compatible == compatibleNone:
		return ports.ErrIncomplete
	case newer && behind:
		return errDiverged
	case newer && (compatible == 0 || compatible > newest):
		return ErrSchemaNewer
	case behind:
		return ErrSchemaBehind
	}
	return nil
}

// readHistory reads the recorded migrations; none if the database was never migrated.
func readHistory(ctx context.Context, db *sql.DB, exists string) (h history, err error) {
	h.applied = map[int64]time.Time{}
	var migrated bool
	if err := db.QueryRowContext(ctx, exists).Scan(&migrated); err != nil || !migrated {
		return h, err
	}
	rows, err := db.QueryContext(ctx, "SELECT version_id, tstamp FROM goose_db_version WHERE is_applied AND version_id > 0")
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version int64
		var applied time.Time
		if err := rows.Scan(&version, &applied); err != nil {
			return h, err
		}
		h.applied[version] = applied
	}
	if err := rows.Err(); err != nil || h.applied[compatibleSince].IsZero() {
		return h, err
	}
	err = db.QueryRowContext(ctx, "SELECT compatible_from FROM installation WHERE id = 1").Scan(&h.compatible)
	return h, err
}

// up applies the migrations of a dialect that db lacks.
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
