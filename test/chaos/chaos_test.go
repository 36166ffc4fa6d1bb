// Package chaos_test kills programs, databases and mail servers in the middle of their work, and
// then counts the messages that arrived. It knows only the command line, the API and the sent mail
// of the service. It also starts the demo.
//
// docs/delivery.md says which test checks which promise. TOCSIN_TEST_CHAOS=full, which `make chaos`
// sets, chooses the full size; without it there are fewer recipients.
package chaos_test

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tocsin/tocsin/test/pgtest"
	"github.com/tocsin/tocsin/wiring"
)

const (
	// beTocsin is the variable that makes this test binary run as the program.
	beTocsin = "TOCSIN_TEST_CHAOS_BE_TOCSIN"
	// sizeVariable chooses the full size.
	sizeVariable = "TOCSIN_TEST_CHAOS"
	// limitFiles is how many bytes the program may write into a file, until that is raised.
	limitFiles = "TOCSIN_TEST_CHAOS_LIMIT_FILES"
)

// The limits that the service promises.
const (
	// repeatsPerKill is the maximum number of messages that one kill -9 repeats.
	repeatsPerKill = 200
	// recoveryLimit is how long after the last start everybody has their message.
	recoveryLimit = 4 * time.Minute
	// resumeLimit is how soon after a standby is promoted, or the path to a database is back,
	// messages leave again. Tests of it do not run beside others.
	resumeLimit = 15 * time.Second
	// stepTimeout is for one step that is not about the promises. It is long, because a machine may
	// be slow; whatever waits in vain has failed long before.
	stepTimeout = 3 * time.Minute
)

func TestMain(m *testing.M) {
	if os.Getenv(beTocsin) != "" {
		limitFileSize(os.Getenv(limitFiles))
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		program := wiring.NewProgram("test", wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ())
		status := program.Run(ctx, os.Args[1:])
		stop()
		os.Exit(status)
	}
	flag.Parse()
	// The tests often wait, mostly for leases to expire.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.NumCPU())); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// limitFileSize limits the size of the files that this process writes, in bytes; empty: no limit.
func limitFileSize(limit string) {
	if limit == "" {
		return
	}
	bytes, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		panic(err)
	}
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		panic(err)
	}
	l.Cur = bytes
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		panic(err)
	}
}

// size has the numbers of a run.
type size struct {
	people  int           // recipients of the event
	kills   int           // of one program after the other
	members int           // recipients of each channel whose mail server fails
	paced   int           // recipients of a channel with a limit
	rows    int           // of the import that is killed
	outage  time.Duration // of what is down
	lease   time.Duration // of what an instance has claimed
}

// chosenSize returns the size that the environment selects.
func chosenSize() size {
	if os.Getenv(sizeVariable) == "full" {
		// The outage is longer than a lease, so that claims expire meanwhile.
		return size{people: 20_000, kills: 3, members: 1_000, paced: 2_000, rows: 50_000, outage: 70 * time.Second, lease: time.Minute}
	}
	return size{people: 1_500, kills: 1, members: 60, paced: 1_000, rows: 16_000, outage: 3 * time.Second, lease: 5 * time.Second}
}

// The databases. They name the sub tests.
const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// onBoth runs a test on each database, with the URL of an empty one.
func onBoth(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run(sqlite, func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "tocsin.db"))
	})
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.New(t))
	})
}

// until polls until a condition is true, and fails at the limit.
func until(t *testing.T, limit time.Duration, what string, isSo func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !isSo() {
		select {
		case <-deadline.C:
			t.Fatalf("after %s it is still not so that %s", limit, what)
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		case <-again.C:
		}
	}
}
