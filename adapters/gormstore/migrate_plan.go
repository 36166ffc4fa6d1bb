package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"path"

	"github.com/tocsin/tocsin/adapters/gormstore/ddl"
)

// wholeFile is the lock of every migration of SQLite.
const wholeFile = "the file: others read it as it was, and wait to write"

// Planned is a statement of a migration to be applied.
type Planned struct {
	Migration string
	ddl.Step
	Rows int64 // of the table, estimated; -1: unknown
}

// Plan returns what Migrate would do, and changes nothing.
func (s *Store) Plan(ctx context.Context) (plan []Planned, err error) {
	if err := s.Ready(ctx); err == nil || !errors.Is(err, ErrSchemaBehind) {
		return nil, err
	}
	all, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if !m.Applied.IsZero() {
			continue
		}
		text, err := migrations.ReadFile(path.Join("migrations", s.engine.dialect().String(), m.Name+".sql"))
		if err != nil {
			return nil, err
		}
		for _, step := range ddl.Steps(string(text)) {
			plan = append(plan, Planned{m.Name, step, -1})
		}
	}
	return plan, s.call(func() error { return s.engine.estimate(ctx, plan) })
}

// estimate sets how many rows the tables have, as of the last ANALYZE.
func (e *postgresEngine) estimate(ctx context.Context, plan []Planned) error {
	for i := range plan {
		if plan[i].Table == "" || plan[i].Lock == ddl.LockNone {
			continue
		}
		err := e.sqlDB.QueryRowContext(withTimeoutClass(ctx, timeoutShort), "SELECT CAST(reltuples AS BIGINT) FROM pg_class WHERE oid = to_regclass($1)", plan[i].Table).Scan(&plan[i].Rows)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return nil
}

// estimate sets the lock of all statements, because they run in one transaction. It does not count
// rows, which SQLite could only do by reading them.
func (e *sqliteEngine) estimate(_ context.Context, plan []Planned) error {
	for i := range plan {
		plan[i].Lock, plan[i].Work = wholeFile, ""
	}
	return nil
}

func (e *postgresEngine) dialect() dialect { return onPostgres }
func (e *sqliteEngine) dialect() dialect   { return onSQLite }
