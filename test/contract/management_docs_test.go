package contract_test

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
)

// TestManagementPage runs the commands of docs/management.md, with a key of the grants that they name.
func TestManagementPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "docs/management.md")
	require.NoError(t, err)
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, block[1])
	}
	require.NotEmpty(t, commands)
	issued := regexp.MustCompile(`(?s)(KEY|ADMIN|STAFF)=\$\(tocsin key create [^)]*?--grant (\S+)\)\n`)

	t.Run("WorksAsItIsWritten", both(func(w *world) {
		script := strings.Join(commands, "\n")
		keys := issued.FindAllStringSubmatch(script, -1)
		require.Len(w, keys, 3)
		environment := append(os.Environ(), "URL="+w.base)
		for _, key := range keys {
			var grants []access.Grant
			for word := range strings.SplitSeq(key[2], ",") {
				grants = append(grants, access.Grant(word))
			}
			environment = append(environment, key[1]+"="+w.issue(scope("acme"), grants...))
		}
		script = issued.ReplaceAllString(script, "")
		script = strings.ReplaceAll(script, "curl -sS", "curl -sS --fail-with-body")
		c := exec.CommandContext(w.Context(), "bash", "-euo", "pipefail", "-c", script)
		c.Dir = w.TempDir()
		c.Env = environment
		out, err := c.CombinedOutput()
		require.NoError(w, err, string(out))
		said := strings.Split(strings.TrimSpace(string(out)), "\n")
		assert.Contains(w, said[len(said)-2], `"dry_run":true,"created":1`)
		assert.Contains(w, said[len(said)-1], `"path":"acme/wiki/readers"`)

		m := w.manager()
		assert.Equal(w, "bulk", read[object](m.get("/api/o/acme/p/wiki/a/reader/e/edited/").is(http.StatusOK))["priority"])
		channel := read[[]named](m.get("/api/o/acme/p/wiki/c/").is(http.StatusOK))[0]
		template := read[object](m.get(idPath("/api/o/acme/p/wiki/a/reader/e/edited/t/", channel.ID)).is(http.StatusOK))
		assert.InDelta(w, 3, template["version"], 0)
		assert.Equal(w, "{{ context.page }} was edited", template["subject"])
	}))
}
