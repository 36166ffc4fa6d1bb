package pgtest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Tables is the query for the names of a database's tables, without partitions, in order.
const Tables = `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'
	AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(quote_ident(tablename))) ORDER BY tablename`

// Lend returns the URL of a database as Clone does, but one that earlier tests of this binary may
// have used. Its rows were reset to those of the template, which takes a tenth of the time of a
// copy. So it is for tests that change rows, not tables. The database exists until the run ends.
func Lend(tb testing.TB, template string, migrate func(dsn string) error) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), stepTimeout)
	defer cancel()
	dsn, giveBack, err := Borrow(ctx, template, migrate)
	if err != nil {
		tb.Fatalf("no database for this test: %v", err)
	}
	tb.Cleanup(giveBack)
	return dsn
}

// Borrow is Lend for a part of a test, such as one run of a property.
func Borrow(ctx context.Context, template string, migrate func(dsn string) error) (dsn string, giveBack func(), err error) {
	run, err := current()
	if err != nil {
		return "", nil, err
	}
	name, err := run.lend(ctx, template, migrate)
	if err != nil {
		return "", nil, err
	}
	return run.dsn(name), func() { run.giveBack(template, name) }, nil
}

func (r *Run) lend(ctx context.Context, template string, migrate func(dsn string) error) (string, error) {
	if name, found := r.takeIdle(template); found {
		return name, r.execute(ctx, r.dsn(name), restore)
	}
	return r.clone(ctx, template+"_kept", func(dsn string) error {
		if err := migrate(dsn); err != nil {
			return err
		}
		return r.execute(ctx, dsn, keep)
	})
}

func (r *Run) takeIdle(template string) (name string, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	idle := r.idle[template]
	if len(idle) == 0 {
		return "", false
	}
	r.idle[template] = idle[:len(idle)-1]
	return idle[len(idle)-1], true
}

func (r *Run) giveBack(template, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle == nil {
		r.idle = map[string][]string{}
	}
	r.idle[template] = append(r.idle[template], name)
}

func (r *Run) execute(ctx context.Context, dsn, statements string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements)
	return errors.Join(err, conn.Close(ctx))
}

// keep copies every table into another schema, and stores the values of the sequences. keep and
// restore process the tables in the order of their creation, so that no table precedes one that it
// refers to. Most tables are always empty. The size of their file shows that, and spares two slow
// statements.
const (
	keep = `
		CREATE SCHEMA kept;
		CREATE TABLE kept.sequences AS SELECT schemaname || '.' || sequencename AS name, last_value FROM pg_sequences;
		DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
				EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', t, t);
			END LOOP;
		END $$`
	restore = `
		DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0 ORDER BY oid DESC LOOP
				EXECUTE format('DELETE FROM public.%I', t);
			END LOOP;
			FOR t IN SELECT o.relname FROM pg_class AS o JOIN pg_class AS k ON k.relname = o.relname AND k.relnamespace = 'kept'::regnamespace
				WHERE o.relkind = 'r' AND o.relnamespace = 'public'::regnamespace AND pg_relation_size(k.oid) > 0 ORDER BY o.oid LOOP
				EXECUTE format('INSERT INTO public.%I OVERRIDING SYSTEM VALUE SELECT * FROM kept.%I', t, t);
			END LOOP;
			PERFORM setval(name, coalesce(last_value, 1), last_value IS NOT NULL) FROM kept.sequences;
		END $$`
)
