// Command withpostgres runs another command with a PostgreSQL server for its tests.
//
//	withpostgres [-durable] COMMAND [ARGUMENT...]
//	withpostgres -find
//
// TOCSIN_TEST_POSTGRES has the URL of the server. If the variable is not set, withpostgres starts a
// server, sets the variable for the command, and stops the server when the command ends. It drops
// the databases that the tests of the command have left. Its exit status is that of the command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/test/pgtest/pgserver"
)

const (
	failed = 1
	usage  = 2
	// signalled is what shells add to the number of the signal that ended a command.
	signalled = 128
	// grace is how long a command may take to end after the signal.
	grace = 10 * time.Second
	// patience is for opening and closing a run of tests.
	patience = 2 * time.Minute
)

func main() {
	durable := flag.Bool("durable", false, "a server whose figures mean something: for benchmarks")
	find := flag.Bool("find", false, "only print where the server's programs are")
	flag.Parse()
	if *find == (flag.NArg() > 0) {
		flag.Usage()
		os.Exit(usage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var status int
	var err error
	if *find {
		err = printPrograms(ctx)
	} else {
		status, err = run(ctx, *durable, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		status = max(status, failed)
	}
	stop()
	os.Exit(status)
}

func printPrograms(ctx context.Context) error {
	dir, err := pgserver.Find(ctx)
	if err == nil {
		_, err = fmt.Println(dir)
	}
	return err
}

// run runs the command with a server and returns its exit status.
func run(ctx context.Context, durable bool, command []string) (int, error) {
	if server := os.Getenv(pgtest.ServerVariable); server != "" {
		if durable {
			if err := checkDurable(ctx, server); err != nil {
				return failed, err
			}
		}
		return runOn(ctx, server, command)
	}
	server, err := pgserver.Start(ctx, pgserver.Options{Durable: durable})
	if err != nil {
		return failed, err
	}
	status, err := runOn(ctx, server.URL(), command)
	return status, errors.Join(err, server.Stop())
}

// runOn runs the command as one run of tests on a server.
func runOn(ctx context.Context, server string, command []string) (int, error) {
	opening, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tests, err := pgtest.Open(opening, server)
	if err != nil {
		return failed, fmt.Errorf("%s: %w", pgtest.ServerVariable, err)
	}
	status, err := execute(ctx, command, append(os.Environ(), pgtest.ServerVariable+"="+server, pgtest.RunVariable+"="+tests.ID()))
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return status, errors.Join(err, tests.Close(closing))
}

// checkDurable refuses to let a benchmark run on a server that does not keep what it confirmed.
func checkDurable(ctx context.Context, server string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := conn.QueryRow(ctx, `SELECT current_setting($1)`, setting).Scan(&value); err != nil {
			return errors.Join(err, conn.Close(ctx))
		}
		if value != "on" {
			return errors.Join(fmt.Errorf("the server of %s has %s=%s: its figures would mean nothing", pgtest.ServerVariable, setting, value), conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// execute runs the command in its own process group, so that everything it has started gets the
// signal when ctx ends: `go test` alone would leave its test binaries running.
func execute(ctx context.Context, command, environment []string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // and no input: tests do not prompt
	cmd.Env = environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	if cmd.Process != nil && ctx.Err() != nil {
		// Kill what is still running. Usually all have ended, and Kill returns an error.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if cmd.ProcessState == nil { // it never ran, or never ended
		return failed, err
	}
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		return signalled + int(state.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
