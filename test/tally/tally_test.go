package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const passing = `{"Action":"start","Package":"x/store"}
{"Action":"run","Package":"x/store","Test":"TestStore"}
{"Action":"output","Package":"x/store","Test":"TestStore","Output":"=== RUN   TestStore\n"}
{"Action":"run","Package":"x/store","Test":"TestStore/SQLite"}
{"Action":"run","Package":"x/store","Test":"TestStore/SQLite/users"}
{"Action":"output","Package":"x/store","Test":"TestStore/SQLite/users","Output":"    store_test.go:7: chatter\n"}
{"Action":"pass","Package":"x/store","Test":"TestStore/SQLite/users"}
{"Action":"pass","Package":"x/store","Test":"TestStore/SQLite"}
{"Action":"run","Package":"x/store","Test":"TestStore/postgres"}
{"Action":"pass","Package":"x/store","Test":"TestStore/postgres"}
{"Action":"pass","Package":"x/store","Test":"TestStore"}
{"Action":"output","Package":"x/store","Output":"PASS\n"}
{"Action":"output","Package":"x/store","Output":"ok  \tx/store\t0.1s\n"}
{"Action":"pass","Package":"x/store"}
`

func TestTally(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, events  string
		databases     []string
		success       bool
		shown, hidden []string
	}{
		{
			name: "APassingPackageIsOneLineAndItsTestsAreCountedByDatabase", events: passing,
			databases: []string{"sqlite", "postgres"}, success: true,
			shown:  []string{"ok  \tx/store\t0.1s\n", "2 tests in 1 packages: 2 passed, 0 failed, 0 skipped; 1 on sqlite; 1 on postgres\n"},
			hidden: []string{"chatter", "PASS\n"},
		},
		{
			name: "ADatabaseWithoutATestFails", events: passing, databases: []string{"oracle"},
			shown: []string{"FAIL: no test ran on oracle"},
		},
		{
			name: "AFailingPackageShowsItsFailingTestsOnly",
			events: `{"Action":"output","Package":"x","Test":"TestGood","Output":"    chatter\n"}
{"Action":"pass","Package":"x","Test":"TestGood"}
{"Action":"output","Package":"x","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"x","Test":"TestBad","Output":"    x_test.go:3: one is not two\n"}
{"Action":"fail","Package":"x","Test":"TestBad"}
{"Action":"output","Package":"x","Output":"FAIL\tx\t0.1s\n"}
{"Action":"fail","Package":"x"}
`,
			shown:  []string{"    x_test.go:3: one is not two\nFAIL\tx\t0.1s\n", "2 tests in 1 packages: 1 passed, 1 failed", "FAIL: x failed"},
			hidden: []string{"chatter", "=== RUN"},
		},
		{
			name: "AFailureOutsideTheTestsShowsEverything",
			events: `{"Action":"output","Package":"x","Test":"TestGood","Output":"WARNING: DATA RACE\n"}
{"Action":"pass","Package":"x","Test":"TestGood"}
{"Action":"fail","Package":"x"}
`,
			shown: []string{"WARNING: DATA RACE", "FAIL: x failed"},
		},
		{
			name: "ARunThatWasCutOffFails",
			events: `{"Action":"run","Package":"x","Test":"TestHung"}
{"Action":"output","Package":"x","Test":"TestHung","Output":"    waiting\n"}
`,
			shown: []string{"    waiting\n", "1 failed", "FAIL: x did not finish"},
		},
		{
			name: "ASkippedTestFails",
			events: `{"Action":"skip","Package":"x","Test":"TestLazy"}
{"Action":"pass","Package":"x","Test":"TestBusy"}
{"Action":"pass","Package":"x"}
`,
			shown: []string{"1 tests in 1 packages: 1 passed, 0 failed, 1 skipped", "FAIL: x: TestLazy was skipped"},
		},
		{
			name:   "ACompilerErrorIsShown",
			events: `{"ImportPath":"x","Action":"build-output","Output":"x.go:1: syntax error\n"}` + "\n" + `{"Action":"fail","Package":"x","FailedBuild":"x"}` + "\n",
			shown:  []string{"x.go:1: syntax error\n", "FAIL: x failed"},
		},
		{
			name: "NothingAtAllFails", events: "go: no module here\n",
			shown: []string{"go: no module here\n", "FAIL: nothing was tested"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			counted := newTally(&out, c.databases)
			require.NoError(t, counted.read(strings.NewReader(c.events)))
			assert.Equal(t, c.success, counted.summarise())
			for _, text := range c.shown {
				assert.Contains(t, out.String(), text)
			}
			for _, text := range c.hidden {
				assert.NotContains(t, out.String(), text)
			}
		})
	}
}

// The events above are written by hand; this one asks the real `go test`.
func TestTally_UnderstandsGoTest(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module x\n",
		"x_test.go": "package x\nimport \"testing\"\nfunc TestX(t *testing.T) { t.Run(\"sqlite\", func(t *testing.T) { t.Error(\"one is not two\") }) }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(module, name), []byte(content), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "./...")
	cmd.Dir = module
	events, err := cmd.Output()
	require.Error(t, err)

	var out strings.Builder
	counted := newTally(&out, []string{"sqlite"})
	require.NoError(t, counted.read(strings.NewReader(string(events))))
	assert.False(t, counted.summarise())
	assert.Contains(t, out.String(), "x_test.go:3: one is not two")
	assert.Contains(t, out.String(), "FAIL\tx\t")
	assert.Contains(t, out.String(), "1 tests in 1 packages: 0 passed, 1 failed, 0 skipped; 1 on sqlite\nFAIL: x failed\n")
}

func TestTally_RanksTheSlowest(t *testing.T) {
	t.Parallel()
	const events = `{"Action":"run","Package":"x/store","Test":"TestA"}
{"Action":"run","Package":"x/store","Test":"TestA/long"}
{"Action":"pass","Package":"x/store","Test":"TestA/long","Elapsed":2.5}
{"Action":"pass","Package":"x/store","Test":"TestA","Elapsed":2.6}
{"Action":"pass","Package":"x/store","Test":"TestB","Elapsed":0.5}
{"Action":"pass","Package":"x/store","Test":"TestC","Elapsed":1}
{"Action":"pass","Package":"x/store","Elapsed":3}
{"Action":"pass","Package":"x/web","Test":"TestD","Elapsed":0}
{"Action":"pass","Package":"x/web","Elapsed":0.1}
`
	var out strings.Builder
	counted := newTally(&out, nil)
	require.NoError(t, counted.read(strings.NewReader(events)))
	counted.rank(2)
	assert.Equal(t, `
The slowest packages, in seconds:
     3.0  x/store
     0.1  x/web

The slowest tests, in seconds:
     2.5  store TestA/long
     1.0  store TestC
`, out.String())
}
