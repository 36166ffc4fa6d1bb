package chaos_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// demo is the script that `make run` starts, with its own folder and address.
type demo struct {
	t        *testing.T
	settings []string
}

func newDemo(t *testing.T, program string) demo {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	return demo{t: t, settings: []string{"DEMO_PROGRAM=" + program, "DEMO_DATA=" + filepath.Join(t.TempDir(), "data"),
		"TOCSIN_LISTEN=" + free.Addr().String(), "TOCSIN_LOG_FORMAT=json"}}
}

func (d demo) script() *exec.Cmd {
	d.t.Helper()
	c := command(d.t, d.settings)
	c.Path, c.Args = "../../deploy/demo.sh", []string{"demo.sh"}
	return c
}

// start starts the demo and returns what it printed as well.
func (d demo) start() (i *instance, banner string) {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), "banner")
	out, err := os.Create(path)
	require.NoError(d.t, err)
	c := d.script()
	c.Stdout = out
	i = start(d.t, c, "")
	require.NoError(d.t, out.Close())
	text, err := os.ReadFile(path)
	require.NoError(d.t, err)
	return i, string(text)
}

// The lines that the demo prints.
var (
	printedSignIn  = regexp.MustCompile(`(?m)^ +username +(\S+)\n +password +(\S+) `)
	printedKey     = regexp.MustCompile(`-H 'Authorization: Key (\S+)'`)
	printedCall    = regexp.MustCompile(`(?m)^curl -sS http://[^/]+(/\S+) -H 'Authorization: Key \S+'(?: -H 'Content-Type: application/json' -d '(.+)')?$`)
	printedMailbox = regexp.MustCompile(`(?m)^TOCSIN_DATABASE_URL=\S+ \S+ mailbox$`)
)

// TestDemo runs each line that the demo prints.
func TestDemo(t *testing.T) {
	t.Parallel()
	t.Run(sqlite, func(t *testing.T) {
		t.Parallel()
		d := newDemo(t, program(t))
		i, banner := d.start()
		signIn, key := printedSignIn.FindStringSubmatch(banner), printedKey.FindStringSubmatch(banner)
		require.NotEmpty(t, signIn, banner)
		require.NotEmpty(t, key, banner)
		assert.Contains(t, banner, i.base+"/console/")
		assert.Contains(t, i.signIn(signIn[1], signIn[2]).get("/console/"), "/console/o/acme/")
		calls := printedCall.FindAllStringSubmatch(banner, -1)
		require.Len(t, calls, strings.Count(banner, "curl "), banner)
		i.key = key[1]
		for _, call := range calls {
			method := http.MethodGet
			if call[2] != "" {
				method = http.MethodPost
			}
			var answer any
			i.call(method, call[1], call[2], &answer)
		}
		until(t, stepTimeout, "the message is in the mailbox", func() bool {
			look := command(t, nil)
			look.Path, look.Args, look.Dir = "/bin/sh", []string{"sh", "-c", printedMailbox.FindString(banner)}, "../.."
			found, err := look.CombinedOutput()
			require.NoError(t, err, "%s", found)
			return strings.Contains(string(found), "grace@example.com")
		})
		i.stop()

		i, banner = d.start()
		assert.NotContains(t, banner, "password", "it is shown once")
		assert.Contains(t, banner, "Key "+key[1], "the key is kept")
		i.stop()
	})
}

// TestDemoSaysWhatIsWrong is about an administrator who cannot be created, for any reason except
// that there is one already.
func TestDemoSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs("testdata/refuses-administrators.sh")
	require.NoError(t, err)
	said, err := newDemo(t, program).script().CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, "tocsin: database or disk is full\n", string(said))
}
