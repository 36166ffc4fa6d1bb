package importer_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/imports"
	"github.com/tocsin/tocsin/domain/users"
)

// collector records e-mails.
type collector struct {
	sunk
	mu     sync.Mutex
	emails []string
}

func (c *collector) Enroll(_ context.Context, w users.Writes) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range w.Members {
		c.emails = append(c.emails, m.Email)
	}
	return nil
}

// TestDuplicateScan checks that, in any number of passes over the file, the first good row with an
// e-mail is imported and the others are duplicates, without regard to case.
func TestDuplicateScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SampledFrom([]string{"a@x.org", "A@X.org", "b@x.org", "c@x.org", "É@x.org", "e\u0301@x.org", "d@x.org", "bad", `stray"`, ""})
		rows := rapid.SliceOfN(row, 0, 40).Draw(t, "rows")
		perPass := rapid.IntRange(1, 45).Draw(t, "keys per pass")

		var want []string
		duplicates, rejected := 0, 0
		seen := map[string]bool{}
		for _, r := range rows {
			e, err := users.NewEnrollment(func(name string) string { return map[string]string{"email": r}[name] }, nil)
			switch {
			case r == "":
			case err != nil:
				rejected++
			case seen[e.Key()]:
				duplicates++
			default:
				seen[e.Key()] = true
				want = append(want, r)
			}
		}
		var got collector
		report, err := importer.NewImports(sink{people: &got}, nil).WithKeysPerPass(perPass).Run(context.Background(), audit.Actor{},
			importer.Import{Open: inMemory("email\n" + strings.Join(rows, "\n"))}, silent{})
		require.NoError(t, err)
		require.ElementsMatch(t, want, got.emails)
		require.Equal(t, imports.Report{Created: len(want), Duplicates: duplicates, Rejected: rejected}, report)
	})
}

func TestDuplicateScanPassLimit(t *testing.T) {
	t.Parallel()
	const perPass = 1_000
	for _, rows := range []int{perPass - 1, perPass, perPass + 1, 2 * perPass, 2*perPass + 1, 7 * perPass} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			b.WriteString("email\n")
			for i := range rows - 2 {
				fmt.Fprintf(&b, "user%d@example.org\n", i)
			}
			b.WriteString("USER0@example.org\nlast@example.org\n") // The very first again, near the end.
			opened := 0
			open := func() (io.ReadCloser, error) {
				opened++
				return inMemory(b.String())()
			}
			var got collector
			report, err := importer.NewImports(sink{people: &got}, nil).WithKeysPerPass(perPass).Run(t.Context(), audit.Actor{}, importer.Import{Open: open}, silent{})
			require.NoError(t, err)
			assert.Equal(t, imports.Report{Created: rows - 1, Duplicates: 1}, report)
			assert.Len(t, got.emails, rows-1)
			assert.NotContains(t, got.emails, "USER0@example.org")
			if rows <= perPass {
				assert.Equal(t, 2, opened, "a file that fits is looked through once")
			} else {
				assert.Equal(t, 2+rows/perPass+1, opened)
			}
		})
	}
}

// flood generates a file of many rows without holding it in memory, and calls atEnd at its end.
type flood struct {
	rows, next int
	rest       string
	atEnd      func()
}

func (f *flood) Read(p []byte) (int, error) {
	for f.rest == "" {
		switch {
		case f.next == 0:
			f.rest = "email,first_name,custom__n\n"
		case f.next > f.rows:
			f.atEnd()
			return 0, io.EOF
		default:
			f.rest = fmt.Sprintf("user%d@example.org,First%d,%d\n", f.next, f.next, f.next)
		}
		f.next++
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// TestImportMemory measures the heap at the end of each pass over a file, where whatever grows with
// the rows is largest, and while nothing is being written. It runs alone, because the heap is that
// of the whole program.
func TestImportMemory(t *testing.T) { //nolint:paralleltest // For the reason given.
	weigh := func(rows int) (largest uint64) {
		synctest.Test(t, func(t *testing.T) {
			passes := 0
			measure := func() {
				passes++
				synctest.Wait()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				largest = max(largest, m.HeapAlloc)
			}
			open := func() (io.ReadCloser, error) { return io.NopCloser(&flood{rows: rows, atEnd: measure}), nil }
			report, err := importer.NewImports(sink{}, nil).WithKeysPerPass(10_000).Run(t.Context(), audit.Actor{}, importer.Import{Open: open}, silent{})
			require.NoError(t, err)
			require.Equal(t, rows, report.Created)
			require.Greater(t, passes, rows/10_000)
		})
		return largest
	}
	small, large := weigh(15_000), weigh(50_000)
	assert.Less(t, large, small+1<<20, "35,000 more rows must not take 1 MiB more")
}
