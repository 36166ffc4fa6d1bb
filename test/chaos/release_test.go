package chaos_test

import (
	"bytes"
	"database/sql"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// releaseBefore builds the program of the previous release, which testdata/release-before names by
// its tag or commit, from the history of the checkout. The program is kept in .bin, so each
// checkout builds it once. In a shallow clone and without a repository it is this program itself:
// then the test shows how instances are replaced, but not that two releases work together.
func releaseBefore(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs("../..")
	require.NoError(t, err)
	named, err := os.ReadFile(filepath.Join("testdata", "release-before"))
	require.NoError(t, err)
	release := strings.TrimSpace(string(named))
	flags := []string{"build", "-buildvcs=false"}
	folder := filepath.Join(top, ".bin", "release-before")
	if withRaceDetector() { // What it depends on is compiled like that already.
		flags = append(flags, "-race")
		folder += "-race"
	}
	built := filepath.Join(folder, release)
	if _, err := os.Stat(built); err == nil {
		return built
	}
	// In containers the checkout may belong to another user.
	git := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "git", append([]string{"-c", "safe.directory=*", "-C", top}, args...)...)
	}
	if out, err := git("cat-file", "-e", release+"^{commit}").CombinedOutput(); err != nil {
		shallow, notThere := git("rev-parse", "--is-shallow-repository").Output()
		require.True(t, notThere != nil || strings.TrimSpace(string(shallow)) == "true",
			"test/chaos/testdata/release-before names %s, which is not in the history of this checkout: %s", release, out)
		t.Logf("this checkout has no history: this program stands in for the release before, %s", release)
		return program(t)
	}
	source, archive := t.TempDir(), filepath.Join(t.TempDir(), "source.tar")
	succeed(t, git("archive", "--format=tar", "--output="+archive, release))
	succeed(t, exec.CommandContext(t.Context(), "tar", "-C", source, "-xf", archive))
	program := filepath.Join(t.TempDir(), "tocsin")
	build := exec.CommandContext(t.Context(), "go", append(flags, "-o", program, "./wiring/tocsin")...)
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=1")
	succeed(t, build)
	// Another test may do the same, so the file gets its name when it is complete.
	require.NoError(t, os.MkdirAll(folder, 0o755))
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	whole, err := os.CreateTemp(folder, "building-*")
	require.NoError(t, err)
	_, err = whole.Write(text)
	require.NoError(t, err)
	require.NoError(t, whole.Chmod(0o755))
	require.NoError(t, whole.Close())
	require.NoError(t, os.Rename(whole.Name(), built))
	return built
}

// withRaceDetector reports whether this test was built with the race detector.
func withRaceDetector() bool {
	info, known := debug.ReadBuildInfo()
	if known {
		for _, s := range info.Settings {
			if s.Key == "-race" {
				return s.Value == "true"
			}
		}
	}
	return false
}

func succeed(t *testing.T, c *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	require.NoError(t, c.Run(), "%s: %s", c, &said)
}

// expand adds a column to every table, as migrations of later releases do. This changes the result
// of some statements that both programs have prepared.
func expand(t *testing.T, url string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	rows, err := db.QueryContext(t.Context(), pgtest.Tables)
	require.NoError(t, err)
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, tables)
	for _, name := range tables {
		until(t, stepTimeout, "a lock of "+name, func() bool {
			_, err := db.ExecContext(t.Context(), "SET lock_timeout = '2s'; ALTER TABLE "+name+" ADD COLUMN of_a_later_release TEXT")
			return err == nil
		})
	}
}

// TestUpgrade replaces the previous release by this one, like a rolling update, and rolls back.
// Both work on one database, whose schema changes meanwhile, and six clients call each.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		before, size := releaseBefore(t), chosenSize()
		shops := make([]project, 4)
		people := min(size.people/2, 3_000)
		for n := range shops {
			shops[n] = project{project: string(rune('a'+n)) + "-shop", people: people, concurrency: 64, sink: newMailServer(t, 100*time.Millisecond)}
		}
		// The first one is so slow that it is still sending when the schema has changed.
		shops[0].concurrency = 8
		shops[0].sink.answerAfter(time.Second)
		url := pgtest.New(t)
		// The previous release creates the installation.
		w := newWorldOf(t, before, url, nil, shops...)
		old := w.serve()
		first := old.trigger(shops[0])
		ofOld := old.ask(shops[0], first)
		shops[0].sink.await(2 * shops[0].concurrency)

		w.program = program(t)
		fresh := w.serve()
		second, third := fresh.trigger(shops[1]), old.trigger(shops[2])
		ofFresh := fresh.ask(shops[1], second)
		expand(t, url)
		migrated := time.Now()
		require.Less(t, len(shops[0].sink.messages()), people, "the schema changed in the middle")
		shops[0].sink.answerAfter(100 * time.Millisecond)
		until(t, stepTimeout, "both answer everything", func() bool {
			return ofOld.all(http.StatusOK, migrated) && ofFresh.all(http.StatusOK, migrated)
		})
		shops[1].sink.await(people / 4)
		ofOld.stop()
		old.stop()

		// For the rollback, the previous release starts on the newer schema.
		w.program = before
		back := w.serve()
		again := time.Now()
		fourth := back.trigger(shops[3])
		ofBack := back.ask(shops[3], fourth)
		until(t, stepTimeout, "both answer everything again", func() bool {
			return ofBack.all(http.StatusOK, again) && ofFresh.all(http.StatusOK, again)
		})
		ofFresh.stop()
		fresh.stop()

		for n, o := range []string{first, second, third, fourth} {
			assert.Equal(t, all(map[string]int{"sent": people}), back.done(o))
			assert.Zero(t, shops[n].repeats(t), "each exactly once")
		}
		ofBack.stop()
		for _, c := range []*clients{ofOld, ofFresh, ofBack} {
			c.kept(back)
		}
		back.stop()
	})
}
