package pgtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

func TestNew(t *testing.T) {
	t.Parallel()

	t.Run("IsEmpty", func(t *testing.T) {
		t.Parallel()
		assert.Zero(t, query[int](t, pgtest.New(t), `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`))
	})

	t.Run("IsADatabaseOfItsOwn", func(t *testing.T) {
		t.Parallel()
		one, other := pgtest.New(t), pgtest.New(t)
		execute(t, one, `CREATE TABLE marks (id int)`)
		assert.Zero(t, query[int](t, other, `SELECT count(*) FROM pg_tables WHERE tablename = 'marks'`))
	})

	t.Run("IsDroppedWithTheTestDespiteOpenConnections", func(t *testing.T) {
		t.Parallel()
		var name string
		t.Run("inner", func(t *testing.T) {
			dsn := pgtest.New(t)
			name = query[string](t, dsn, `SELECT current_database()`)
			_, err := pgx.Connect(t.Context(), dsn) // and never closed
			require.NoError(t, err)
		})
		assert.False(t, exists(t, name))
	})

	t.Run("KeepsTextOfAnyLanguage", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "UTF8", query[string](t, pgtest.New(t), `SHOW server_encoding`))
	})
}

func TestClone(t *testing.T) {
	t.Parallel()
	migrate := func(dsn string) error {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			return err
		}
		_, err = conn.Exec(t.Context(), `CREATE TABLE marks (id int)`)
		return err // the connection stays open: a careless migration must not spoil the template
	}

	t.Run("HasOnlyTheMigratedSchema", func(t *testing.T) {
		t.Parallel()
		one, other := pgtest.Clone(t, "content", migrate), pgtest.Clone(t, "content", migrate)
		execute(t, one, `INSERT INTO marks VALUES (1)`)
		assert.Equal(t, 1, query[int](t, one, `SELECT count(*) FROM marks`))
		assert.Zero(t, query[int](t, other, `SELECT count(*) FROM marks`))
	})

	t.Run("MigratesOnceForAll", func(t *testing.T) {
		t.Parallel()
		var migrations atomic.Int32
		var clones sync.WaitGroup
		for range 8 {
			clones.Go(func() {
				dsn := pgtest.Clone(t, "once", func(dsn string) error {
					migrations.Add(1)
					return migrate(dsn)
				})
				assert.Zero(t, query[int](t, dsn, `SELECT count(*) FROM marks`))
			})
		}
		clones.Wait()
		assert.EqualValues(t, 1, migrations.Load())
	})

	t.Run("FailsWithTheMigrationAndTriesAgain", func(t *testing.T) {
		t.Parallel()
		failing := &recorder{TB: t}
		failing.run(func() {
			pgtest.Clone(failing, "retried", func(dsn string) error {
				return errors.Join(migrate(dsn), errors.New("out of luck"))
			})
		})
		assert.Contains(t, failing.fatal, "template retried: out of luck")
		assert.Zero(t, query[int](t, pgtest.Clone(t, "retried", migrate), `SELECT count(*) FROM marks`))
	})

	t.Run("RefusesANameThatPostgresWouldCut", func(t *testing.T) {
		t.Parallel()
		failing := &recorder{TB: t}
		failing.run(func() {
			pgtest.Clone(failing, "a_name_that_is_longer_than_there_is_room_for", migrate)
		})
		assert.Contains(t, failing.fatal, "a template's name has at most 36 characters")
	})
}

func TestCopy(t *testing.T) {
	t.Parallel()
	original := pgtest.New(t)
	execute(t, original, `CREATE TABLE marks AS SELECT 1 AS id`)
	copied := pgtest.Copy(t, original)
	execute(t, original, `INSERT INTO marks VALUES (2)`)
	assert.Equal(t, 1, query[int](t, copied, `SELECT count(*) FROM marks`))
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("DropsLeftoversOfDeadRunsOnly", func(t *testing.T) {
		t.Parallel()
		living := pgtest.New(t)
		execute(t, maintenance(t), `CREATE DATABASE tocsin_test_deadbeef_orphan`)

		run, err := pgtest.Open(t.Context(), maintenance(t))
		require.NoError(t, err)
		assert.False(t, exists(t, "tocsin_test_deadbeef_orphan"))
		assert.Equal(t, 1, query[int](t, living, `SELECT 1`))

		own := "tocsin_test_" + run.ID() + "_own"
		execute(t, maintenance(t), `CREATE DATABASE `+own)
		require.NoError(t, run.Close(t.Context()))
		assert.False(t, exists(t, own))
		assert.Equal(t, 1, query[int](t, living, `SELECT 1`))
	})

	t.Run("WantsAURL", func(t *testing.T) {
		t.Parallel()
		_, err := pgtest.Open(t.Context(), "host=localhost user=postgres")
		assert.ErrorContains(t, err, "TOCSIN_TEST_POSTGRES must be a URL")
	})
}

// The test binary runs itself again, with a server that does not exist.
func TestATestWithoutAServerFails(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestNew$", "-test.v")
	cmd.Env = append(os.Environ(), pgtest.ServerVariable+"=postgres://nobody@127.0.0.1:1/none", pgtest.RunVariable+"=")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	assert.Contains(t, string(out), "no PostgreSQL for this test")
	assert.NotContains(t, string(out), "SKIP")
}

// recorder is a test that may fail without failing the one around it.
type recorder struct {
	testing.TB
	fatal string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run calls do where Fatalf can end it.
func (r *recorder) run(do func()) {
	var done sync.WaitGroup
	done.Go(do)
	done.Wait()
}

// maintenance returns the URL of the database that every server has.
func maintenance(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(pgtest.New(t))
	require.NoError(t, err)
	address.Path = "/postgres"
	return address.String()
}

func exists(t *testing.T, name string) bool {
	t.Helper()
	return query[bool](t, maintenance(t), `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name)
}

func query[T any](t *testing.T, dsn, sql string, args ...any) (value T) {
	t.Helper()
	connected(t, dsn, func(ctx context.Context, conn *pgx.Conn) {
		require.NoError(t, conn.QueryRow(ctx, sql, args...).Scan(&value))
	})
	return value
}

func execute(t *testing.T, dsn, sql string) {
	t.Helper()
	connected(t, dsn, func(ctx context.Context, conn *pgx.Conn) {
		_, err := conn.Exec(ctx, sql)
		require.NoError(t, err)
	})
}

func connected(t *testing.T, dsn string, do func(context.Context, *pgx.Conn)) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(t.Context())) }()
	do(t.Context(), conn)
}

func TestLend(t *testing.T) {
	t.Parallel()
	migrate := func(dsn string) error {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			return err
		}
		_, err = conn.Exec(t.Context(), `CREATE TABLE houses (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text);
			CREATE TABLE rooms (house bigint NOT NULL REFERENCES houses, name text);
			INSERT INTO houses (name) VALUES ('first'); INSERT INTO rooms VALUES (1, 'hall')`)
		return errors.Join(err, conn.Close(t.Context()))
	}
	var had []string
	for range 3 {
		t.Run("EveryTestFindsTheMigratedSchema", func(t *testing.T) { //nolint:paralleltest // One after the other, so that they have the same.
			dsn := pgtest.Lend(t, "lent", migrate)
			assert.Equal(t, "first hall", query[string](t, dsn, `SELECT string_agg(h.name || ' ' || r.name, ', ') FROM houses h JOIN rooms r ON r.house = h.id`))
			assert.Equal(t, 2, query[int](t, dsn, `INSERT INTO houses (name) VALUES ('second') RETURNING id`))
			execute(t, dsn, `UPDATE houses SET name = 'changed'; INSERT INTO rooms VALUES (2, 'attic')`)
			had = append(had, dsn)
		})
	}
	assert.Equal(t, []string{had[0], had[0], had[0]}, had)
	one, other := pgtest.Lend(t, "lent", migrate), pgtest.Lend(t, "lent", migrate)
	assert.NotEqual(t, one, other, "nobody shares what is lent")
}
