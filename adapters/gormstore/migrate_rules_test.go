package gormstore_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/ddl"
	"github.com/tocsin/tocsin/test/pgtest"
)

// frozen are the released migrations, which may have been applied, with their sums.
//
//go:embed testdata/frozen.sha256
var frozen []byte

// lastFrozen is the number of the last of them. Those after it keep the rules of
// docs/operations.md.
const lastFrozen = 33

// compatibleSince is the migration since which a schema says which programs work with it: earlier
// ones refuse every newer schema.
const compatibleSince = 38

func version(t *testing.T, file string) int {
	t.Helper()
	n, err := strconv.Atoi(path.Base(file)[:5])
	require.NoError(t, err)
	return n
}

func TestMigrationChecksums(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(frozen)); lines.Scan(); {
		sum, file, found := strings.Cut(lines.Text(), "  ")
		require.True(t, found)
		want[file] = sum
	}
	files, err := fs.Glob(gormstore.Migrations, "migrations/*/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimPrefix(file, "migrations/")
		sum, is := want[name]
		if !is {
			assert.Greater(t, version(t, file), lastFrozen, "%s is missing in frozen.sha256", name)
			continue
		}
		text, err := fs.ReadFile(gormstore.Migrations, file)
		require.NoError(t, err)
		digest := sha256.Sum256(text)
		assert.Equal(t, sum, hex.EncodeToString(digest[:]), "%s was edited: write a new migration instead", name)
		delete(want, name)
	}
	assert.Empty(t, want, "migrations were removed")
}

// problems returns the violations of a Postgres migration that runs while the service works.
func problems(n int, text string) (all []string) {
	up, _, _ := strings.Cut(text, "-- +goose Down")
	var contracts string
	for _, s := range ddl.Steps(text) {
		if s.Blocks() {
			all = append(all, "others wait while it "+string(s.Work)+": "+s.Statement)
		}
		if s.Contracts {
			contracts = s.Statement
		}
	}
	if contracts != "" && n > compatibleSince && !strings.Contains(up, "UPDATE installation SET compatible_from = "+strconv.Itoa(n)+";") {
		all = append(all, "programs of before may fail, but compatible_from is not raised: "+contracts)
	}
	if strings.Contains(up, "CONCURRENTLY") {
		// What comes after it runs in the same session, and must not wait without an end.
		if strings.LastIndex(up, "SET lock_timeout = '2s'") < strings.LastIndex(up, "CONCURRENTLY") {
			all = append(all, "the session waits for locks without an end afterwards")
		}
		for _, part := range []string{"-- +goose NO TRANSACTION", "SET lock_timeout = 0", "DROP INDEX CONCURRENTLY IF EXISTS", "SET lock_timeout = '2s'"} {
			if !strings.Contains(up, part) {
				all = append(all, "an index that is built beside others needs: "+part)
			}
		}
	}
	return all
}

func TestMigrationsDoNotBlock(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(gormstore.Migrations, "migrations/postgres/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		if n := version(t, file); n > lastFrozen {
			text, err := fs.ReadFile(gormstore.Migrations, file)
			require.NoError(t, err)
			assert.Empty(t, problems(n, string(text)), file)
		}
	}
}

func TestMigrationRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"CREATE INDEX a_b ON a (b);":                                               "others wait while it reads all rows",
		"ALTER TABLE a ALTER COLUMN b TYPE BIGINT;":                                "others wait while it writes all rows anew",
		"ALTER TABLE a DROP COLUMN b;":                                             "compatible_from is not raised",
		"ALTER TABLE a RENAME TO b; UPDATE installation SET compatible_from = 39;": "compatible_from is not raised",
		"CREATE INDEX CONCURRENTLY a_b ON a (b);":                                  "NO TRANSACTION",
		"SET lock_timeout = '2s'; CREATE INDEX CONCURRENTLY a_b ON a (b);":         "without an end afterwards",
		"ALTER TABLE a ADD COLUMN b BIGINT NOT NULL;":                              "others wait while it reads all rows",
	} {
		assert.Contains(t, strings.Join(problems(40, "-- +goose Up\n"+text), "\n"), want, text)
	}
	for _, text := range []string{
		"-- +goose Up\nALTER TABLE a ADD COLUMN b BIGINT NOT NULL DEFAULT 0;",
		"-- +goose Up\nCREATE TABLE a (b BIGINT); CREATE INDEX a_b ON a (b);",
		"-- +goose Up\nALTER TABLE a DROP COLUMN b; UPDATE installation SET compatible_from = 40;",
		"-- +goose NO TRANSACTION\n-- +goose Up\nSET lock_timeout = 0; DROP INDEX CONCURRENTLY IF EXISTS a_b; CREATE INDEX CONCURRENTLY a_b ON a (b); SET lock_timeout = '2s';",
	} {
		up := text
		if strings.HasPrefix(text, "-- +goose NO") {
			up = "-- +goose Up\n" + text
		}
		assert.Empty(t, problems(40, up), text)
	}
}

func TestCompatibleNewerSchema(t *testing.T) {
	t.Parallel()
	onEachEmpty(t, func(t *testing.T, url string) {
		s := open(t, url)
		all, err := s.Status(t.Context())
		require.NoError(t, err)
		newest := all[len(all)-1].Version
		exec(t, s, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
		set := func(from int64) {
			t.Helper()
			exec(t, s, "UPDATE installation SET compatible_from = "+strconv.FormatInt(from, 10))
		}
		set(newest)
		require.NoError(t, s.Ready(t.Context()), "what serves goes on")
		require.NoError(t, s.Migrate(t.Context()), "what starts has nothing to do")
		newPost(t, s)
		if url != "sqlite::memory:" {
			beside, err := gormstore.Open(t.Context(), gormstore.Config{URL: url, AutoMigrate: true, Clock: clock{}})
			require.NoError(t, err, "it can be started beside the newer program")
			require.NoError(t, beside.Close())
		}
		set(newest + 1)
		require.ErrorIs(t, s.Ready(t.Context()), gormstore.ErrSchemaNewer)
		require.ErrorContains(t, s.Migrate(t.Context()), "use the newer program")
		set(newest)
		exec(t, s, "DELETE FROM goose_db_version WHERE version_id = "+strconv.FormatInt(newest, 10))
		require.ErrorIs(t, s.Ready(t.Context()), gormstore.ErrSchemaNewer)
	})
}

// A migration that waited for a lock would have everybody wait behind it.
func TestMigrationYieldsLock(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s, p, _ := migrating(t, url)
	_, err := p.UpTo(t.Context(), lastFrozen)
	require.NoError(t, err)
	plan, err := s.Plan(t.Context())
	require.NoError(t, err)
	var planned bool
	for _, step := range plan {
		planned = planned || step.Migration == "00038_compatible" && step.Table == "installation" && step.Lock == ddl.LockAll && !step.Blocks()
	}
	assert.True(t, planned, "%v", plan)

	var log journal
	s, err = gormstore.Connect(t.Context(), gormstore.Config{URL: url, Clock: clock{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	other := connect(t, url)
	conn, err := other.Handle().Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	_, err = conn.ExecContext(t.Context(), "BEGIN; LOCK TABLE installation IN ACCESS SHARE MODE")
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, s.Migrate(t.Context())) })
	waiting := func() (n int) {
		require.NoError(t, other.Handle().QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n))
		return n
	}
	for _, want := range []int{1, 0, 1} { // It waits, lets others pass, and waits again.
		require.Eventually(t, func() bool { return waiting() == want }, 20*time.Second, 5*time.Millisecond)
	}
	var pid int
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
	told := fmt.Sprintf(`msg="a migration waits for another session" pid=%d`, pid)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), told) }, 20*time.Second, 5*time.Millisecond)
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	done.Wait()
	require.NoError(t, s.Ready(t.Context()))
	plan, err = s.Plan(t.Context())
	require.NoError(t, err)
	assert.Empty(t, plan)
}

// Whoever uses two tables in another order than a migration may end it by a deadlock.
func TestMigrationRetriesDeadlock(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	s, p, _ := migrating(t, url)
	_, err := p.UpTo(t.Context(), 38) // The next one changes channels, then deliveries.
	require.NoError(t, err)
	other := connect(t, url)
	conn, err := other.Handle().Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	// Postgres ends the session that first looks for a deadlock. This one never looks.
	_, err = conn.ExecContext(t.Context(), "SET deadlock_timeout = '1h'; BEGIN; LOCK TABLE deliveries IN ACCESS SHARE MODE")
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(func() { assert.NoError(t, s.Migrate(t.Context())) })
	require.Eventually(t, func() (waits bool) {
		require.NoError(t, other.Handle().QueryRowContext(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'deliveries'::regclass
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND NOT granted)`).Scan(&waits))
		return waits
	}, 20*time.Second, 5*time.Millisecond)
	_, err = conn.ExecContext(t.Context(), "LOCK TABLE channels IN ACCESS SHARE MODE")
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	done.Wait()
	require.NoError(t, s.Ready(t.Context()))
}

// journal is a log that is read while it is written.
type journal struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.text.String()
}

func TestMigrationLogsBlockers(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.New(t))
	for name, locks := range map[string]string{"ATable": "BEGIN; LOCK TABLE installation", "AnotherThatMigrates": "SELECT pg_advisory_lock(" + strconv.Itoa(gormstore.MigrationLock) + ")"} {
		t.Run(name, func(t *testing.T) {
			sessions, pids := [2]*sql.Conn{}, [2]int32{}
			for i := range sessions {
				conn, err := s.Handle().Conn(t.Context())
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, conn.Close()) })
				require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pids[i]))
				sessions[i] = conn
			}
			_, err := sessions[0].ExecContext(t.Context(), locks)
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			var log journal
			var running sync.WaitGroup
			running.Go(func() { s.LogBlockers(ctx, slog.New(slog.NewTextHandler(&log, nil)), pids[1], time.Millisecond) })
			if name == "ATable" {
				running.Go(func() {
					_, err := sessions[1].ExecContext(t.Context(), "SELECT FROM installation")
					assert.NoError(t, err)
				})
			}
			told := fmt.Sprintf("pid=%d ", pids[0])
			assert.Eventually(t, func() bool { return strings.Count(log.String(), told) >= 2 }, 20*time.Second, 5*time.Millisecond)
			stop()
			_, err = sessions[0].ExecContext(t.Context(), "ROLLBACK; SELECT pg_advisory_unlock_all()")
			require.NoError(t, err)
			running.Wait()
			assert.NotContains(t, log.String(), "it is not known")
		})
	}
}
