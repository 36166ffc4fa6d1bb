package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

// itself is the variable that makes this test binary the program under test.
const itself = "TOCSIN_TEST_BE_WITHPOSTGRES"

func TestMain(m *testing.M) {
	if os.Getenv(itself) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestRun_WithoutAServer(t *testing.T) {
	t.Parallel()

	t.Run("StartsOneForTheCommand", func(t *testing.T) {
		t.Parallel()
		out, err := program(t, "", "sh", "-c", `echo "$TOCSIN_TEST_POSTGRES"`).Output()
		require.NoError(t, err)
		dsn := strings.TrimSpace(string(out))
		assert.True(t, strings.HasPrefix(dsn, "postgres://"), dsn)
		_, err = pgx.Connect(t.Context(), dsn)
		assert.Error(t, err, "the server outlived the command")
	})

	t.Run("ExitsLikeTheCommand", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, 7, exitStatus(t, program(t, "", "sh", "-c", "exit 7")))
	})

	t.Run("SaysWhichCommandIsMissing", func(t *testing.T) {
		t.Parallel()
		cmd := program(t, "", "no-such-command")
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		assert.Equal(t, failed, exitStatus(t, cmd))
		assert.Contains(t, complaint.String(), "no-such-command")
	})

	t.Run("WantsACommand", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, usage, exitStatus(t, program(t, "")))
	})

	t.Run("PassesASignalOnAndStopsTheServer", func(t *testing.T) {
		t.Parallel()
		// The grandchild stands for a test binary below `go test`.
		cmd := program(t, "", "sh", "-c", `sh -c 'echo "$TOCSIN_TEST_POSTGRES"; exec sleep 600'; exit 3`)
		cmd.Stdout = nil
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewReader(out)
		dsn, err := lines.ReadString('\n')
		require.NoError(t, err)

		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		_, err = lines.ReadString('\n') // the end of output: the grandchild has gone too
		require.Error(t, err)
		require.Error(t, cmd.Wait())
		assert.NotZero(t, cmd.ProcessState.ExitCode())
		_, err = pgx.Connect(t.Context(), strings.TrimSpace(dsn))
		assert.Error(t, err, "the server outlived the program")
	})
}

func TestRun_WithAServer(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Stop()) })
	conn, err := pgx.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })

	t.Run("UsesItAndLeavesItRunning", func(t *testing.T) {
		out, err := program(t, server.URL(), "sh", "-c", `echo "$TOCSIN_TEST_POSTGRES"`).Output()
		require.NoError(t, err)
		assert.Equal(t, server.URL(), strings.TrimSpace(string(out)))
		assert.NoError(t, conn.Ping(t.Context()))
	})

	t.Run("DropsLeftoversOfTests", func(t *testing.T) {
		cmd := program(t, server.URL(), "sh", "-c", `echo "$TOCSIN_TEST_POSTGRES_RUN"; read -r line <"$0"`, gate(t))
		cmd.Stdout = nil
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		run, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		left := "tocsin_test_" + strings.TrimSpace(run) + "_left"
		_, err = conn.Exec(t.Context(), `CREATE DATABASE `+left)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(cmd.Args[len(cmd.Args)-1], []byte("go\n"), 0))
		require.NoError(t, cmd.Wait())

		var there bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, left).Scan(&there))
		assert.False(t, there)
	})

	t.Run("RefusesABenchmarkOnAServerThatForgets", func(t *testing.T) {
		cmd := program(t, server.URL(), "-durable", "true")
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		assert.Equal(t, failed, exitStatus(t, cmd))
		assert.Contains(t, complaint.String(), "fsync=off")
	})
}

// program is this test binary as the program, with TOCSIN_TEST_POSTGRES as given.
func program(t *testing.T, server string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), itself+"=yes", pgtest.ServerVariable+"="+server, pgtest.RunVariable+"=")
	return cmd
}

func exitStatus(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	return exit.ExitCode()
}

// gate is a named pipe: a command that reads it waits until another process writes to it.
func gate(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/gate"
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}
