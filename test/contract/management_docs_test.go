package contract_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/cli"
	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/configs"
	"github.com/tocsin/tocsin/domain/access"
)

// TestManagementPage runs the commands of docs/management.md with a key that has the grants of that
// page.
func TestManagementPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "docs/management.md")
	require.NoError(t, err)
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, block[1])
	}
	require.NotEmpty(t, commands)
	issued := regexp.MustCompile(`(?s)(KEY|ADMIN|STAFF|SUPPORT|WATCH)=\$\(tocsin key create [^)]*?--grant (\S+)\)\n`)

	t.Run("WorksAsItIsWritten", both(func(w *world) {
		w.manager().patch("/api/o/acme/", object{"name": "Acme Inc."}).is(http.StatusOK) // As in the demo.
		script := strings.Join(commands, "\n")
		keys := issued.FindAllStringSubmatch(script, -1)
		require.Len(w, keys, 5)
		environment := append(os.Environ(), "URL="+w.base)
		for _, key := range keys {
			var grants []access.Grant
			for word := range strings.SplitSeq(key[2], ",") {
				grants = append(grants, access.Grant(word))
			}
			environment = append(environment, key[1]+"="+w.issue(scope("acme"), grants...))
		}
		script = issued.ReplaceAllString(script, "")
		const shownURL = "URL=http://127.0.0.1:8080\n"
		require.Contains(w, script, shownURL)
		script = strings.ReplaceAll(script, shownURL, "")
		script = strings.ReplaceAll(script, "curl -sS", "curl -sS --fail-with-body")
		c := exec.CommandContext(w.Context(), "bash", "-euo", "pipefail", "-c", script)
		c.Dir = w.TempDir()
		c.Env = environment
		out, err := c.CombinedOutput()
		require.NoError(w, err, string(out))
		said := strings.Split(strings.TrimSpace(string(out)), "\n")
		assert.Contains(w, said[len(said)-2], `"dry_run":true,"created":1`)
		applied := func(answer string) (a appliedBlueprint) {
			require.NoError(w, json.Unmarshal([]byte(answer), &a), answer)
			for i := range a.Changes {
				a.Changes[i].ID = 0
			}
			return a
		}
		printed := regexp.MustCompile("(?s)```json\n(\\{\"dry_run\".*?)```").FindStringSubmatch(string(text))
		require.Len(w, printed, 2, "docs/management.md shows the answer to its blueprint")
		want, got := applied(printed[1]), applied(said[len(said)-1])
		require.Len(w, want.Changes, 3)
		assert.Equal(w, want, got)

		m := w.manager()
		assert.Equal(w, "bulk", read[object](m.get("/api/o/acme/p/wiki/a/reader/e/edited/").is(http.StatusOK))["priority"])
		channel := read[[]named](m.get("/api/o/acme/p/wiki/c/").is(http.StatusOK))[0]
		template := read[object](m.get(idPath("/api/o/acme/p/wiki/a/reader/e/edited/t/", channel.ID)).is(http.StatusOK))
		assert.InDelta(w, 3, template["version"], 0)
		assert.Equal(w, "{{ context.page }} was edited", template["subject"])
	}))
}

// TestEveryCommandHasItsCall checks the table of docs/management.md: it has every command, and the
// calls that it names exist.
func TestEveryCommandHasItsCall(t *testing.T) {
	t.Parallel()
	calls := map[string]bool{}
	for _, r := range httpapi.Routes() {
		calls[r.Method+" "+strings.TrimPrefix(r.Path, "/api/")] = true
	}
	text, err := os.ReadFile(root + "docs/management.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## Commands and calls")
	require.True(t, found)
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(table, -1) {
		rows[strings.ReplaceAll(row[1], "-", " ")] = row[2]
		named := regexp.MustCompile("`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`").FindAllStringSubmatch(row[2], -1)
		assert.Equal(t, strings.HasPrefix(row[2], "none: "), len(named) == 0, "%s: calls, or why there is none", row[1])
		for _, call := range named {
			assert.True(t, calls[call[1]], "%s: there is no call %s", row[1], call[1])
		}
	}
	commands := commandLine(t)
	for _, command := range commands {
		within := slices.ContainsFunc(commands, func(other string) bool { return strings.HasPrefix(other, command+" ") })
		if _, described := rows[command]; !described && !within && command != "tocsin" && command != "help" && !strings.HasPrefix(command, "completion") {
			assert.Fail(t, "no row in docs/management.md", command)
		}
		delete(rows, command)
	}
	delete(rows, "man") // Hidden, and so without a page.
	assert.Empty(t, rows, "rows of no command")
}

// TestDocsNameCommandsThatExist checks the commands in code of every page.
func TestDocsNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	commands := append(commandLine(t), "help", "man") // These have no page.
	named := regexp.MustCompile("(?m)(?:`|^|^ {4})(?:[$] )?(?:bin/)?tocsin ([a-z][a-z-]*(?: [a-z][a-z-]*)*)")
	found := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		pages, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		for _, page := range pages {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				found++
				words := strings.ReplaceAll(m[1], "-", " ")
				assert.True(t, slices.ContainsFunc(commands, func(c string) bool {
					group := slices.ContainsFunc(commands, func(other string) bool { return strings.HasPrefix(other, c+" ") })
					return words == c || !group && strings.HasPrefix(words, c+" ")
				}), "%s: there is no command tocsin %s", page, m[1])
			}
		}
	}
	assert.Greater(t, found, 150)
}

// commandLine returns the commands of the program, by their manual pages, with spaces for dashes.
func commandLine(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	program := cli.Program{In: strings.NewReader(""), Out: t.Output(), Err: t.Output(), Flags: configs.Flags, ServerFlags: configs.ServerFlags}
	require.Zero(t, program.Run(t.Context(), []string{"man", folder}))
	pages, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	var commands []string
	for _, page := range pages {
		commands = append(commands, strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(page.Name(), "tocsin-"), ".1"), "-", " "))
	}
	return commands
}
