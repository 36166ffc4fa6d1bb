package pgtest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Tables is the query for the names of a database's tables, in order. Partitions are none.
const Tables = `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'
	AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(quote_ident(tablename))) ORDER BY tablename`

// Lend returns the URL of a database as Clone does, but one that earlier tests of this program may
// have had: it has been brought back to what migrate made of it, which takes a tenth of the time
// that another copy takes. So it is for tests that change rows and leave tables as they are. It
// stays until the run ends.
func Lend(tb testing.TB, template string, migrate func(dsn string) error) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	dsn, giveBack, err := Borrow(ctx, template, migrate)
	if err != nil {
		tb.Fatalf("no database for this test: %v", err)
	}
	tb.Cleanup(giveBack)
	return dsn
}

// Borrow is Lend for less than a whole test, such as one run of a property.
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

// keep copies every table into a schema of its own, and notes where the sequences stand. keep and
// restore go through the tables in the order in which they were made, and so no table comes before
// one that it refers to. Most tables are always empty: a file of no bytes shows that, and spares
// two statements, which took most of the time.
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
