// Package chaos_test kills: programs, databases and mail servers, in the middle of their work, and
// then counts what arrived. It knows the service as its operator and its clients do, by its command
// line, its API and the mail it sends, and nothing of what is inside. It also starts the demo, as
// its first users do.
//
// docs/delivery.md says which test holds which promise. TOCSIN_TEST_CHAOS=full, which `make chaos`
// sets, chooses the full size; without it the same happens to fewer people.
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
	// beTocsin is the variable that makes this test binary the program, so that what is killed is
	// what was compiled with the test.
	beTocsin = "TOCSIN_TEST_CHAOS_BE_TOCSIN"
	// sizeVariable chooses the full size.
	sizeVariable = "TOCSIN_TEST_CHAOS"
	// limitFiles is how many bytes the program may write into a file, until that is raised.
	limitFiles = "TOCSIN_TEST_CHAOS_LIMIT_FILES"
)

// What is promised.
const (
	// repeatsPerKill is how many messages one kill -9 repeats at most.
	repeatsPerKill = 200
	// recoveryLimit is how long after the last start everybody has their message.
	recoveryLimit = 4 * time.Minute
	// resumption is how soon after a standby is promoted, or the path to a database is back,
	// messages leave again. Tests of it do not run beside others.
	resumption = 15 * time.Second
	// patience is for one step that is not about the promises. It is long, because a machine may be
	// slow; whatever waits in vain has failed long before.
	patience = 3 * time.Minute
)

func TestMain(m *testing.M) {
	if os.Getenv(beTocsin) != "" {
		limitItself(os.Getenv(limitFiles))
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		program := wiring.NewProgram("test", wiring.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Environ())
		status := program.Run(ctx, os.Args[1:])
		stop()
		os.Exit(status)
	}
	flag.Parse()
	// They wait as much as they work: for leases to end, above all.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.NumCPU())); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// limitItself has this process write no more than so many bytes into a file; any number without a
// limit.
func limitItself(limit string) {
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

// size is how much of everything there is.
type size struct {
	people int           // recipients of the event
	kills  int           // of one program after the other
	crowd  int           // recipients of each channel whose mail server fails
	paced  int           // recipients of a channel with a limit
	rows   int           // of the import that is killed
	outage time.Duration // of what is down
	lease  time.Duration // of what an instance has claimed
}

// chosen is the size that the environment asks for.
func chosen() size {
	if os.Getenv(sizeVariable) == "full" {
		// The outage is longer than a lease, so that what is held meanwhile becomes anybody's.
		return size{people: 20_000, kills: 3, crowd: 1_000, paced: 2_000, rows: 50_000, outage: 70 * time.Second, lease: time.Minute}
	}
	return size{people: 1_500, kills: 1, crowd: 60, paced: 1_000, rows: 16_000, outage: 3 * time.Second, lease: 5 * time.Second}
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

// until waits for a condition that must become true. It polls, because the service has other work
// to do.
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
