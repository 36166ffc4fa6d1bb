package gormstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	programs "os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/gormstore"
	"github.com/tocsin/tocsin/adapters/gormstore/seal"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/pgtest"
)

// pooled starts a PgBouncer in transaction mode before a database, with few connections, and
// returns the URL that leads through it as the guide says for its version; empty where there is
// none.
func pooled(t *testing.T, direct string) string {
	t.Helper()
	program, err := programs.LookPath("pgbouncer")
	if err != nil {
		if program, err = programs.LookPath("/usr/sbin/pgbouncer"); err != nil {
			return ""
		}
	}
	version, err := programs.CommandContext(t.Context(), program, "--version").Output()
	require.NoError(t, err)
	said := regexp.MustCompile(`PgBouncer 1\.(\d+)`).FindSubmatch(version)
	require.NotNil(t, said, "%s", version)
	minor, err := strconv.Atoi(string(said[1]))
	require.NoError(t, err)

	address, err := url.Parse(direct)
	require.NoError(t, err)
	password, _ := address.User.Password()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	settings := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s password=%s
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`, address.Hostname(), address.Port(), address.User.Username(), password, host, port)
	query := address.Query()
	if minor >= 21 {
		settings += "max_prepared_statements = 200\n"
	} else {
		query.Set("default_query_exec_mode", "cache_describe")
	}
	folder, err := os.MkdirTemp("", "tocsin-pgbouncer-") //nolint:usetesting // Another account has to reach it, and t.TempDir is for this one alone.
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	file := filepath.Join(folder, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	c := programs.CommandContext(context.WithoutCancel(t.Context()), program, "--quiet", file)
	c.Dir = folder
	if os.Geteuid() == 0 { // It refuses to run as root.
		account, err := user.Lookup("nobody")
		require.NoError(t, err)
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		require.NoError(t, err)
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		require.NoError(t, err)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		for _, path := range []string{folder, file} {
			require.NoError(t, os.Chown(path, int(uid), int(gid)))
		}
	}
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		assert.NoError(t, c.Process.Kill())
		_ = c.Wait() // It was killed.
	})
	address.Host, address.RawQuery = net.JoinHostPort(host, port), query.Encode()
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), address.String())
		return err == nil && conn.Close(t.Context()) == nil
	}, time.Minute, 20*time.Millisecond, "it takes connections")
	t.Logf("%s", strings.Split(string(version), "\n")[0])
	return address.String()
}

// TestPgBouncer checks the guide's promises for PgBouncer in transaction mode: everything works,
// notifications with database_notify_url, and settings of a transaction do not reach other clients
// of the pool.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		direct := pgtest.New(t)
		through := pooled(t, direct)
		if through == "" {
			t.Log("NOT RUN: pgbouncer is not installed (Debian and Ubuntu: apt-get install pgbouncer)")
			return
		}
		migrated, err := gormstore.Open(t.Context(), gormstore.Config{URL: direct, AutoMigrate: true, Clock: wall{}})
		require.NoError(t, err)
		require.NoError(t, migrated.Close())
		instance := func() *gormstore.Store {
			s, err := gormstore.Open(t.Context(), gormstore.Config{URL: through, NotifyURL: direct, Clock: wall{}, ServerClock: true,
				Keys: seal.NewRing([seal.KeySize]byte{1}), Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			return s
		}
		s, other := instance(), instance()
		added := other.Queue().NewWork()
		p := newPost(t, s)
		const messages = 40
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for range messages / 8 {
					p.trigger(t, nil, nil)
				}
			})
		}
		clients.Wait()
		select {
		case <-added:
		case <-time.After(time.Minute):
			t.Error("the other instance is not told of work")
		}
		sent := 0
		for sent < messages {
			_, err := other.Queue().Expand(t.Context(), deliveries.AllOccurrences, messages)
			if err != nil {
				require.ErrorIs(t, err, deliveries.ErrNothingToDo)
			}
			jobs, err := s.Queue().Claim(t.Context(), p.channel.ID, "a", messages, time.Minute)
			require.NoError(t, err)
			var outcomes []deliveries.Outcome
			for _, j := range jobs {
				outcomes = append(outcomes, deliveries.Outcome{ID: j.ID, State: deliveries.Sent, Attempts: 1})
			}
			lost, err := other.Queue().Record(t.Context(), "a", outcomes)
			require.NoError(t, err)
			assert.Zero(t, lost)
			sent += len(jobs)
		}
		require.NoError(t, s.Writable(t.Context()))

		var conns []*pgx.Conn
		for range 3 { // As many as the pool has: each transaction holds another one.
			conn, err := pgx.Connect(t.Context(), through)
			require.NoError(t, err)
			conns = append(conns, conn)
			_, err = conn.Exec(t.Context(), "BEGIN")
			require.NoError(t, err)
			for setting, want := range map[string]string{"enable_seqscan": "on", "enable_hashjoin": "on", "plan_cache_mode": "auto", "statement_timeout": "0",
				"idle_in_transaction_session_timeout": "0"} {
				var is string
				require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&is))
				assert.Equal(t, want, is, setting)
			}
		}
		for _, conn := range conns {
			assert.NoError(t, conn.Close(t.Context()))
		}
	})
}
