package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/test/pgtest"
)

// TestMain runs this test binary as the program to measure, or as one of its floors, so that the
// tests need no build.
func TestMain(m *testing.M) {
	if os.Getenv(profilesVariable) != "" {
		main()
		os.Exit(0)
	}
	folder, err := os.MkdirTemp("", "bench-profiles-")
	if err == nil {
		err = os.Setenv(profilesVariable, folder)
	}
	exitOn(err)
	status := m.Run()
	exitOn(os.RemoveAll(folder))
	os.Exit(status)
}

// TestBench measures a little of everything, so that the benchmark keeps working. Its figures mean
// nothing.
func TestBench(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{sqlite, postgres} { // side by side, because each waits for much
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			itself, err := os.Executable()
			require.NoError(t, err)
			o := options{tocsin: itself, dir: t.TempDir(), measure: parts, databases: []string{kind},
				runs: 1, rows: 2500, list: 2100, messages: 100, handOffs: 3, users: 500, deliveries: 2000, waiting: 3000, connections: 3, attackers: 4, slow: 20, length: 50 * time.Millisecond, progress: t.Output()}
			rowsWanted := 67
			if kind == postgres {
				o.postgres = pgtest.New(t)
				rowsWanted++ // beside a held snapshot
			}
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), o, &out))

			t.Log(out.String())
			var rows [][]string
			for line := range strings.Lines(out.String()) {
				if row, found := strings.CutPrefix(line, "| "); found {
					rows = append(rows, strings.Split(strings.TrimSuffix(row, " |\n"), " | "))
				}
			}
			const title = 1
			require.Len(t, rows, title+rowsWanted)
			for _, row := range rows {
				assert.Len(t, row, len(rows[0]), "every line has every column: %s", row)
			}
			left, err := os.ReadDir(o.dir)
			require.NoError(t, err)
			assert.Empty(t, left, "what was measured is taken away again")
			profiles, err := os.ReadDir(os.Getenv(profilesVariable))
			require.NoError(t, err)
			assert.NotEmpty(t, profiles, "what was started wrote CPU profiles")
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := options{measure: parts, databases: []string{sqlite}, runs: 1, rows: 10, list: 10, messages: 1, handOffs: 1, users: 200, deliveries: 200, waiting: 256, connections: 1, attackers: 1, slow: 1, length: time.Second}
	require.NoError(t, good.check())
	for name, spoil := range map[string]func(*options){
		"AnUnknownPartIsRefused":             func(o *options) { o.measure = []string{"everything"} },
		"AnUnknownDatabaseIsRefused":         func(o *options) { o.databases = []string{"oracle"} },
		"AListLongerThanTheFileIsRefused":    func(o *options) { o.list = 11 },
		"FewerDeliveriesThanUsersAreRefused": func(o *options) { o.deliveries = 199 },
		"TooFewToClaimAreRefused":            func(o *options) { o.waiting = 255 },
		"NoRunsAreRefused":                   func(o *options) { o.runs = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := good
			spoil(&bad)
			require.Error(t, bad.check())
		})
	}
}

// TestTable checks that each column has its own median, and each database its own line. What has
// no floor has no ratio either.
func TestTable(t *testing.T) {
	t.Parallel()
	var tb table
	for _, rate := range []float64{3000, 1000, 2000} {
		tb.add("POST user", sqlite, "requests/s", figure{
			tocsin: sample{rate: rate, p50: time.Duration(rate) * time.Microsecond, p99: 9 * time.Millisecond, processor: 50 * time.Microsecond},
			floor:  sample{rate: 4000}, peak: int64(rate) * 1e6 / 100})
	}
	tb.add("POST user", postgres, "requests/s", figure{tocsin: sample{rate: 2500}, floor: sample{rate: 5000}})
	tb.add("behind", sqlite, "ms", figure{tocsin: sample{rate: 120}})
	var out bytes.Buffer
	require.NoError(t, tb.write(&out, options{runs: 3}, machine{}))
	assert.Contains(t, out.String(),
		"| POST user | sqlite | **2,000 requests/s** (1,000 to 3,000) | 4,000 | 0.50 | 2.0 / 9.0 ms |  | 50.0 µs |  | 20 MB |\n"+
			"| POST user | postgres | **2,500 requests/s** (2,500 to 2,500) | 5,000 | 0.50 |  |  |  |  |  |\n"+
			"| behind | sqlite | **120 ms** (120 to 120) |  |  |  |  |  |  |  |\n")
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]float64{"9.9": 9.94, "100": 100.4, "1,234": 1234, "1,234,567": 1234567} {
		assert.Equal(t, want, number(n))
	}
}
