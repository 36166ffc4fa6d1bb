package pgserver_test

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// holder is the variable that makes this test binary hold a server until it is killed.
const holder = "TOCSIN_TEST_HOLD_POSTGRES"

func TestMain(m *testing.M) {
	if os.Getenv(holder) == "" {
		os.Exit(m.Run())
	}
	server, err := pgserver.Start(context.Background(), pgserver.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, server.URL())
	select {}
}

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("ServesUntilStoppedAndLeavesNothing", func(t *testing.T) {
		t.Parallel()
		server := start(t, pgserver.Options{})
		folder := show(t, server.URL(), "data_directory")
		assert.DirExists(t, folder)

		require.NoError(t, server.Stop())
		assert.Error(t, reach(t.Context(), server.URL()))
		assert.NoDirExists(t, folder)
	})

	t.Run("TakesHundredsOfConnectionsAndNeverWaitsForTheDisk", func(t *testing.T) {
		t.Parallel()
		server := start(t, pgserver.Options{})
		defer stop(t, server)
		assert.Equal(t, "300", show(t, server.URL(), "max_connections"))
		assert.Equal(t, "off", show(t, server.URL(), "fsync"))
	})

	t.Run("KeepsConfirmedDataWhenDurable", func(t *testing.T) {
		t.Parallel()
		server := start(t, pgserver.Options{Durable: true})
		defer stop(t, server)
		assert.Equal(t, "300", show(t, server.URL(), "max_connections"))
		assert.Equal(t, "on", show(t, server.URL(), "fsync"))
		assert.Equal(t, "on", show(t, server.URL(), "synchronous_commit"))
		assert.Equal(t, "1GB", show(t, server.URL(), "shared_buffers"))
	})

	t.Run("IsOpenToThisMachineAndThePasswordOnly", func(t *testing.T) {
		t.Parallel()
		server := start(t, pgserver.Options{})
		defer stop(t, server)
		assert.Equal(t, "127.0.0.1", show(t, server.URL(), "listen_addresses"))

		stranger, err := url.Parse(server.URL())
		require.NoError(t, err)
		stranger.User = url.UserPassword("postgres", "guessed")
		assert.ErrorContains(t, reach(t.Context(), stranger.String()), "password authentication failed")
	})

	t.Run("KeepsConfirmedDataThroughAnInterruption", func(t *testing.T) {
		t.Parallel()
		server := start(t, pgserver.Options{})
		folder := show(t, server.URL(), "data_directory")
		for n := range 2 {
			conn, err := pgx.Connect(t.Context(), server.URL())
			require.NoError(t, err)
			_, err = conn.Exec(t.Context(), fmt.Sprintf(`CREATE TABLE mark_%d ()`, n))
			require.NoError(t, err)

			require.NoError(t, server.Interrupt(t.Context()))
			require.Error(t, reach(t.Context(), server.URL()))
			require.Error(t, conn.Ping(t.Context()))
			require.NoError(t, server.Resume(t.Context()))
			assert.Equal(t, fmt.Sprint(n+1), value(t, server.URL(), `SELECT count(*)::text FROM pg_tables WHERE tablename LIKE 'mark%'`))
		}
		require.NoError(t, server.Interrupt(t.Context()))
		require.NoError(t, server.Stop())
		assert.NoDirExists(t, folder)
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		ended, end := context.WithCancel(t.Context())
		end()
		_, err := pgserver.Start(ended, pgserver.Options{})
		assert.ErrorIs(t, err, context.Canceled)
	})
}

// The server must not outlive its starter even when that one cannot do anything about it.
func TestStart_EndsWithAKilledStarter(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), holder+"=yes")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	dsn := strings.TrimSpace(line)
	folder := show(t, dsn, "data_directory")

	require.NoError(t, cmd.Process.Kill())
	require.ErrorContains(t, cmd.Wait(), "killed")
	assert.Eventually(t, func() bool {
		_, err := os.Stat(folder)
		return os.IsNotExist(err)
	}, time.Minute, 20*time.Millisecond)
	assert.Error(t, reach(t.Context(), dsn))
}

func TestFind_NamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	assert.ErrorContains(t, pgserver.ErrNotInstalled, "initdb")
	assert.ErrorContains(t, pgserver.ErrNotInstalled, "apt-get install postgresql")
}

func start(t *testing.T, o pgserver.Options) *pgserver.Server {
	t.Helper()
	server, err := pgserver.Start(t.Context(), o)
	require.NoError(t, err)
	return server
}

func stop(t *testing.T, server *pgserver.Server) {
	t.Helper()
	assert.NoError(t, server.Stop())
}

func reach(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func show(t *testing.T, dsn, setting string) string {
	t.Helper()
	return value(t, dsn, `SELECT current_setting($1)`, setting)
}

func value(t *testing.T, dsn, query string, args ...any) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(t.Context())) }()
	require.NoError(t, conn.QueryRow(t.Context(), query, args...).Scan(&value))
	return value
}
