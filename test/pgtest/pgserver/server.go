// Package pgserver starts a throwaway PostgreSQL server from the installed programs and stops it
// again. It knows processes, ports and settings, but no databases, schemas or tests.
//
// It runs on Linux and macOS. The server never outlives the process that started it, however that
// one ends: nothing has to be cleaned up after a panic or a kill -9.
package pgserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startLimit = time.Minute
	stopLimit  = 30 * time.Second
	// superuser is a role of the server, not an account of the system.
	superuser = "postgres"
)

// Options choose what a server is for. The zero value is for tests.
type Options struct {
	// Durable makes commits durable, and gives the server the memory of a small production server,
	// for benchmarks. Otherwise the server never waits for the disk: it is fast, and loses data
	// when the power fails.
	Durable bool
}

// settings returns the server's parameters, except those of its folder and port.
func (o Options) settings() []string {
	common := []string{
		"max_connections=300", // packages are tested side by side, each with its own pools
		// An unusual time zone, so that tests find code that depends on the server's time zone.
		"timezone=<+0545>-05:45",
	}
	if o.Durable {
		return append(common, "max_wal_size=4GB", "fsync=on", "synchronous_commit=on", "full_page_writes=on", "shared_buffers=1GB")
	}
	// No autovacuum: it would process hundreds of short-lived databases.
	return append(common, "max_wal_size=1GB", "fsync=off", "full_page_writes=off", "autovacuum=off", "shared_buffers=128MB")
}

// Server is a running server.
type Server struct {
	url   string
	leash io.WriteCloser // the watcher stops the server when this end of the pipe is closed
	done  chan struct{}  // closed when the server is gone and its folder removed
	log   *os.File
}

// Start starts a server on a free port of the loopback address, with a folder and a password of its
// own, as an unprivileged user when the caller is root. It returns when the server takes
// connections.
func Start(ctx context.Context, o Options) (*Server, error) {
	password := rand.Text()
	return startWith(ctx, o, password, func(ctx context.Context, bin, dir string, account syscall.SysProcAttr) error {
		return initialise(ctx, bin, dir, password, account)
	})
}

// initFunc creates the data folder of a server below the server's folder.
type initFunc func(ctx context.Context, bin, dir string, account syscall.SysProcAttr) error

func startWith(ctx context.Context, o Options, password string, fill initFunc) (*Server, error) {
	bin, err := Find(ctx)
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// Another process may take the free port, so there are several attempts.
	for attempt := 1; ; attempt++ {
		s, err := start(ctx, bin, account, o, password, fill)
		if err == nil || attempt == 5 || !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
}

var errPortTaken = errors.New("somebody else took the port")

func start(ctx context.Context, bin string, account syscall.SysProcAttr, o Options, password string, fill initFunc) (s *Server, err error) {
	dir, err := os.MkdirTemp(o.parentFolder(), "tocsin-postgres-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := fill(ctx, bin, dir, account); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	// The log is read after the folder is gone, through this handle.
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	args := []string{"-c", watch, "sh", dir, filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"),
		"-c", "listen_addresses=127.0.0.1", "-c", "port=" + port, "-c", "unix_socket_directories="}
	for _, setting := range o.settings() {
		args = append(args, "-c", setting)
	}
	// Not bound to ctx: the pipe ends it, also when this process is killed.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", args...)
	cmd.Dir, cmd.Env = dir, environment()
	cmd.Stdout, cmd.Stderr = log, log
	// A separate session: the terminal's Ctrl-C ends the tests, which then close the pipe.
	account.Setsid = true
	cmd.SysProcAttr = &account
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	address := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, password),
		Host: net.JoinHostPort("127.0.0.1", port), Path: "/postgres", RawQuery: "sslmode=disable"}
	s = &Server{url: address.String(), leash: leash, done: make(chan struct{}), log: log}
	go func() {
		_ = cmd.Wait() // The status is not needed: died reads the log.
		close(s.done)
	}()
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// watch is a shell script that runs the server, which is the command after the first argument. When
// standard input ends, it stops the server and removes its folder, the first argument. Standard
// input ends when Stop closes the pipe, or when this process dies. The shutdown is immediate:
// nobody reads the data again. A line on standard input also stops the server, and the next line
// starts it again.
const watch = `
dir=$1; shift
exec 3<&0
while :; do
	"$@" & server=$!
	( if read -r line <&3; then : >"$dir/again"; fi; kill -QUIT "$server" ) & leash=$!
	wait "$server"; status=$?
	kill "$leash" 2>/dev/null
	[ -e "$dir/again" ] && rm "$dir/again" && read -r line <&3 || break
done
cd / && rm -rf "$dir"
exit "$status"`

// initialise makes the server's data folder below dir.
func initialise(ctx context.Context, bin, dir, password string, account syscall.SysProcAttr) error {
	passwordFile := filepath.Join(dir, "password")
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := chown(account, dir, passwordFile); err != nil {
		return err
	}
	return runAs(ctx, account, dir, filepath.Join(bin, "initdb"), "--pgdata", filepath.Join(dir, "data"), "--no-sync",
		"--username", superuser, "--pwfile", passwordFile, "--auth", "password", "--encoding", "UTF8", "--locale", "C")
}

// chchown changes the owner of files to the account that runs the server.
func chown(account syscall.SysProcAttr, paths ...string) error {
	for _, path := range paths {
		if owner := account.Credential; owner != nil {
			if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
				return err
			}
		}
	}
	return nil
}

// runAs runs one of PostgreSQL's programs and waits for its end.
func runAs(ctx context.Context, account syscall.SysProcAttr, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, environment()
	cmd.SysProcAttr = &account
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, bytes.TrimSpace(out))
	}
	return nil
}

// URL returns the URL of the maintenance database, for the superuser.
func (s *Server) URL() string { return s.url }

// Interrupt ends the server like a crash, and returns when it accepts no connections. Resume starts
// it again, with everything that was committed.
func (s *Server) Interrupt(ctx context.Context) error {
	if _, err := io.WriteString(s.leash, "stop\n"); err != nil {
		return err
	}
	address, err := url.Parse(s.url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address.Host)
		if err != nil {
			return ctx.Err()
		}
		if err := conn.Close(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server does not stop: %w", ctx.Err())
		case <-again.C:
		}
	}
}

// Resume starts the server again after Interrupt, at the same address. It returns when the server
// accepts connections.
func (s *Server) Resume(ctx context.Context) error {
	if _, err := io.WriteString(s.leash, "start\n"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return s.ready(ctx)
}

// Stop stops the server at once and removes its folder. What it held is lost.
func (s *Server) Stop() error {
	err := s.leash.Close()
	if errors.Is(err, os.ErrClosed) { // the server went first
		err = nil
	}
	select {
	case <-s.done:
	case <-time.After(stopLimit):
		err = errors.Join(err, fmt.Errorf("the PostgreSQL server did not stop within %s", stopLimit))
	}
	return errors.Join(err, s.log.Close())
}

// ready returns when the server accepts connections.
func (s *Server) ready(ctx context.Context) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			return s.died()
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server takes no connections: %w", err)
		case <-again.C:
		}
	}
}

// died returns the log of a server that ended by itself.
func (s *Server) died() error {
	log, err := io.ReadAll(io.NewSectionReader(s.log, 0, 1<<20))
	if err != nil {
		return err
	}
	if bytes.Contains(log, []byte("could not bind")) || bytes.Contains(log, []byte("could not create any TCP/IP sockets")) {
		return fmt.Errorf("%w\n%s", errPortTaken, log)
	}
	return fmt.Errorf("the PostgreSQL server ended while starting:\n%s", bytes.TrimSpace(log))
}

// unprivileged returns the account that runs the server if the caller is root, because PostgreSQL
// refuses to run as root.
func unprivileged() (syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return syscall.SysProcAttr{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return syscall.SysProcAttr{}, err
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return syscall.SysProcAttr{}, err
		}
		return syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return syscall.SysProcAttr{}, errors.New("PostgreSQL refuses to run as root, and this system has neither a user postgres nor a user nobody")
}

// environment returns the environment of this process without the variables of PostgreSQL's clients
// and servers, such as PGDATA or PGPORT.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
}

func freePort(ctx context.Context) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}
