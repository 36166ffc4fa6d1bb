package arch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edit replaces a text that occurs once in a file of the tree.
type edit struct{ file, old, text string }

// nickname is a migration that adds a detail of members.
const nickname = `-- +goose Up
-- +goose StatementBegin
ALTER TABLE members ADD COLUMN nickname TEXT NOT NULL DEFAULT '';
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
ALTER TABLE members DROP COLUMN nickname;
-- +goose StatementEnd
`

// TestRecipes follows three recipes of docs/architecture.md in a scratch copy: for a driver, for a
// setting of that driver, and for a detail of a member. It checks that the changed files are those
// that the recipes list, and that the program builds, shows the setting, sends by the driver, and
// imports and shows the detail.
func TestRecipes(t *testing.T) {
	t.Parallel()
	driver, err := os.ReadFile("testdata/recipes/pager.go.txt")
	require.NoError(t, err)
	s := &scratch{T: t, files: map[string]string{}}
	s.follow("a driver", map[string]string{"adapters/pager/pager.go": string(driver)},
		edit{"wiring/providers.go", `shoutrrr.New(guard)}`, `shoutrrr.New(guard), pager.New(guard, "")}`},
		edit{"wiring/providers.go", `	"github.com/tocsin/tocsin/adapters/shoutrrr"`, `	"github.com/tocsin/tocsin/adapters/pager"
	"github.com/tocsin/tocsin/adapters/shoutrrr"`},
		edit{"test/arch/rules.go", `	{folder: "adapters/twilio",`, `	{folder: "adapters/pager", ours: []string{"adapters/pager", "adapters/outbound", "ports", "domain"}},
	{folder: "adapters/twilio",`},
		edit{"test/arch/rules.go", `"adapters/twilio", "adapters/webhook"}`, `"adapters/pager", "adapters/twilio", "adapters/webhook"}`})
	s.follow("a setting", nil,
		edit{"configs/configs.go", "\tSSO SSO\n", "\tPagerURL string // of the gateway\n\tSSO SSO\n"},
		edit{"configs/settings.go", `		{Setting{Name: "listen",`, `		{Setting{Name: "pager_url", Form: "url", About: "Where the gateway for pagers is."},
			into(func(c *Config) *string { return &c.PagerURL }, baseURL)},
		{Setting{Name: "listen",`},
		edit{"wiring/providers.go", `pager.New(guard, "")`, `pager.New(guard, c.PagerURL)`})
	const migration = "adapters/gormstore/migrations/%s/99999_nickname.sql"
	s.follow("a detail of a member", map[string]string{fmt.Sprintf(migration, "postgres"): nickname, fmt.Sprintf(migration, "sqlite"): nickname},
		edit{"domain/users/users.go", "	LastName  string\n}", "	LastName  string\n	Nickname  string\n}"},
		edit{"domain/users/users.go", `		{"last_name", &d.LastName, names.OptionalLabel},`, `		{"last_name", &d.LastName, names.OptionalLabel},
		{"nickname", &d.Nickname, names.OptionalLabel},`},
		edit{"adapters/httpapi/users.go", "`json:\"last_name\"`\n}", "`json:\"last_name\"`\n	Nickname string `json:\"nickname\"`\n}"},
		edit{"adapters/console/pages/pieces.gohtml", `{{define "names"}}`, `{{define "names"}}{{template "input" (dict "form" .form "name" "nickname" "label" "Nickname" "max" 200)}}
`},
		edit{"app/previews.go", `LastName: "Example"}`, `LastName: "Example", Nickname: "Countess"}`},
		edit{"adapters/console/pages/import.gohtml", `<td><bdi>{{.LastName}}</bdi></td>`, `<td><bdi>{{.LastName}}</bdi></td><td><bdi>{{.Nickname}}</bdi></td>`},
		edit{"adapters/console/pages/import.gohtml", `<th scope="col">Last name</th>`, `<th scope="col">Last name</th><th scope="col">Nickname</th>`})
	program := s.build()

	posted := make(chan string, 1)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		posted <- r.URL.Path + ": " + string(text)
	}))
	defer gateway.Close()
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), program, args...)
		c.Env = []string{"TOCSIN_LISTEN=127.0.0.1:0", "TOCSIN_LOG_FORMAT=json", "TOCSIN_DATABASE_URL=sqlite:" + filepath.Join(filepath.Dir(program), "tocsin.db"), "TOCSIN_SECRET_KEY=" + strings.Repeat("42", 32),
			"TOCSIN_PAGER_URL=" + gateway.URL}
		return c
	}
	run := func(in string, args ...string) string {
		t.Helper()
		c := command(args...)
		c.Stdin = strings.NewReader(in)
		said, err := c.CombinedOutput()
		require.NoError(t, err, string(said))
		return string(said)
	}
	assert.Regexp(t, `(?m)^pager_url +`+regexp.QuoteMeta(gateway.URL)+` +env TOCSIN_PAGER_URL$`, run("", "config", "show"))
	run(`{organizations: [{slug: acme, name: Acme, channels: [{name: pagers, protocol: SMS, driver: pager}]}]}`, "apply", "-f", "-")
	run("", "channel", "test", "pagers", "--org", "acme", "--to", "+442079460958")
	assert.Contains(t, <-posted, "/+442079460958: ")

	run("email,nickname\nada@example.org,Countess\n", "import", "users", "-", "--org", "acme")
	key, err := command("key", "create", "--name", "reader", "--org", "acme", "--grant", "user:read").Output()
	require.NoError(t, err)
	server := command("serve", "--no-worker")
	log, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	defer func() {
		assert.NoError(t, server.Process.Kill())
		_ = server.Wait() // It was killed.
	}()
	var line struct{ Msg, Address string }
	for in := json.NewDecoder(log); line.Msg != "listening"; {
		require.NoError(t, in.Decode(&line))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+line.Address+"/api/o/acme/u/ada@example.org/", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Key "+strings.TrimSpace(string(key)))
	answer, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer func() { assert.NoError(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"nickname":"Countess"`)
}

// scratch is the tree with changed and new files.
type scratch struct {
	*testing.T
	files map[string]string // their contents, by their paths in the tree
}

// follow creates files and edits others. It checks that the recipe lists exactly these, besides
// tests and pages.
func (s *scratch) follow(recipe string, made map[string]string, edits ...edit) {
	s.Helper()
	touched := maps.Clone(made)
	if touched == nil {
		touched = map[string]string{}
	}
	for _, e := range edits {
		text, changed := s.files[e.file]
		if !changed {
			was, err := os.ReadFile(filepath.Join("..", "..", e.file))
			require.NoError(s, err)
			text = string(was)
		}
		require.Equal(s, 1, strings.Count(text, e.old), "%s: %s", e.file, e.old)
		touched[e.file] = strings.Replace(text, e.old, e.text, 1)
		s.files[e.file] = touched[e.file]
	}
	maps.Copy(s.files, touched)
	maps.DeleteFunc(touched, func(file, _ string) bool { return strings.HasSuffix(file, ".sql") }) // The recipe names their folders.
	assert.Equal(s, slices.Sorted(maps.Keys(touched)), recipeFiles(s.T, recipe), "docs/architecture.md, %s", recipe)
}

// listed is a file at the beginning of a step of a recipe.
var listed = regexp.MustCompile("(?m)^- `([a-zNAME/_]+\\.(?:go|gohtml))`")

// recipeFiles returns the files of a recipe of docs/architecture.md that are code and no tests,
// sorted.
func recipeFiles(t *testing.T, recipe string) (files []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(strings.ToLower(string(page)), "\n### "+recipe+"\n")
	require.True(t, found, "docs/architecture.md has a recipe for %s", recipe)
	text, _, _ := strings.Cut(string(page)[len(page)-len(after):], "\n### ")
	for _, m := range listed.FindAllStringSubmatch(text, -1) {
		if !strings.HasSuffix(m[1], "_test.go") {
			files = append(files, strings.ReplaceAll(m[1], "NAME", "pager"))
		}
	}
	slices.Sort(files)
	return files
}

// build builds the program of the scratch tree, checks the rules for imports, and returns the path
// of the program.
func (s *scratch) build() string {
	s.Helper()
	dir := s.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(s, err)
	replaced := map[string]string{}
	for file, text := range s.files {
		other := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(s, os.WriteFile(other, []byte(text), 0o600))
		replaced[filepath.Join(root, file)] = other
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(s, err)
	require.NoError(s, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	program := filepath.Join(dir, "tocsin")
	for _, args := range [][]string{{"-ldflags=-w", "-o", program, "./wiring/tocsin"}, {"./test/arch"}} {
		c := exec.CommandContext(s.Context(), "go", append([]string{"build", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json")}, args...)...)
		c.Dir = root
		said, err := c.CombinedOutput()
		require.NoError(s, err, string(bytes.TrimSpace(said)))
	}
	return program
}

// TestRecipesNameFilesThatExist checks that the files in the recipes of docs/architecture.md exist.
func TestRecipesNameFilesThatExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	found := 0
	for _, m := range quoted.FindAllSubmatch(page, -1) {
		name := string(m[1])
		if !strings.Contains(name, "/") || strings.ContainsAny(name, " {…*(") || strings.Contains(name, "NAME") || strings.HasPrefix(name, "/") {
			continue
		}
		found++
		_, err := os.Stat(filepath.Join("..", "..", name))
		assert.NoError(t, err, "docs/architecture.md names what does not exist")
	}
	assert.Greater(t, found, 60)
}
