package arch_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var (
	quoted   = regexp.MustCompile("`([^`\n]*)`")
	testName = regexp.MustCompile(`^(?:[a-z/]+: )?(Test\w+|…)((?:/[\w…]+)*)$`)
	declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	word     = regexp.MustCompile(`"(\w+)"`)
)

// TestSecurityNamesItsTests checks that each rule of docs/security.md names a test, and that these
// tests exist.
func TestSecurityNamesItsTests(t *testing.T) {
	t.Parallel()
	tests, parts := allTests(t)
	page, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	found := 0
	for _, q := range quoted.FindAllStringSubmatch(joined(string(page)), -1) {
		name := testName.FindStringSubmatch(q[1])
		if name == nil {
			continue
		}
		found++
		if name[1] != "…" {
			assert.Contains(t, tests, name[1], "docs/security.md names a test that does not exist")
		}
		for part := range strings.SplitSeq(strings.Trim(name[2], "/"), "/") {
			if part != "" && part != "…" {
				assert.Contains(t, parts, part, "docs/security.md names a case of %s that does not exist", name[1])
			}
		}
	}
	assert.Greater(t, found, 80)
	for paragraph := range strings.SplitSeq(joined(string(page)), "\n") {
		if strings.HasPrefix(paragraph, "- ") && !strings.Contains(paragraph, "`Test") && !strings.Contains(paragraph, ": Test") {
			assert.Fail(t, "a rule names no test", paragraph)
		}
	}
}

// joined returns a page with each item of a list, and each row of a table, on its own line.
func joined(page string) string { return strings.ReplaceAll(page, "\n  ", " ") }

// allTests returns the names of all tests, and all strings that may name cases.
func allTests(t *testing.T) (tests, parts map[string]bool) {
	t.Helper()
	tests, parts = map[string]bool{}, map[string]bool{}
	tree := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != "." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, "_test.go") && (!strings.Contains(name, "test/conformance/") || !strings.HasSuffix(name, ".go")) {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		for _, m := range word.FindAllSubmatch(text, -1) {
			parts[string(m[1])] = true
		}
		return err
	}))
	return tests, parts
}

// TestReadmeIsShort checks the length of the README, so that a new reader reads it to the end.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 120)
}

// TestDeployment checks the promises of deploy/: no service has rights that it does not need, and
// every image is pinned to an exact version.
func TestDeployment(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/compose.yaml")
	require.NoError(t, err)
	var compose struct {
		Services map[string]struct {
			Image       string
			ReadOnly    bool     `yaml:"read_only"`
			CapDrop     []string `yaml:"cap_drop"`
			SecurityOpt []string `yaml:"security_opt"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &compose))
	require.Len(t, compose.Services, 2)
	pinned := regexp.MustCompile(`^\$\{POSTGRES_IMAGE:-postgres:\d+\.\d+-bookworm\}$|@sha256:[0-9a-f]{64}$`)
	for name, s := range compose.Services {
		assert.True(t, s.ReadOnly, name)
		assert.Equal(t, []string{"ALL"}, s.CapDrop, name)
		assert.Equal(t, []string{"no-new-privileges:true"}, s.SecurityOpt, name)
		if s.Image != "" {
			assert.Regexp(t, pinned, s.Image, name)
		}
	}

	image, err := os.ReadFile("../../deploy/Dockerfile")
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^ARG GO_IMAGE=golang:\d+\.\d+\.\d+-bookworm$`, string(image))
	assert.Regexp(t, `(?m)^ARG BASE_IMAGE=debian:\d+\.\d+-slim$`, string(image))
	assert.Len(t, regexp.MustCompile(`(?m)^FROM \$\{\w+\}`).FindAllString(string(image), -1), 2)
	assert.Contains(t, string(image), "\nUSER tocsin\n")

	unit, err := os.ReadFile("../../deploy/tocsin.service")
	require.NoError(t, err)
	for _, line := range []string{"NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "MemoryMax=2G"} {
		assert.Contains(t, string(unit), "\n"+line+"\n")
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	block   = regexp.MustCompile("(?s)\n```.*?\n```")
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	target  = regexp.MustCompile("(?m)(?:`|^ {4})make ([a-z-]+)")
	rule    = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// TestDocsLeadSomewhere checks the links of every page, with their headings, and the targets of
// make that pages name.
func TestDocsLeadSomewhere(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(tree, pattern)
		require.NoError(t, err)
		for _, name := range names {
			text, err := fs.ReadFile(tree, name)
			require.NoError(t, err)
			pages[name] = string(text)
		}
	}
	makefile, err := fs.ReadFile(tree, "Makefile")
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, m := range rule.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	found := 0
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			to := name
			if m[1] != "" {
				to = path.Join(path.Dir(name), m[1])
			}
			_, err := fs.Stat(tree, to)
			assert.NoError(t, err, "%s links to a file that does not exist", name)
			if m[2] != "" {
				assert.Contains(t, anchors(pages[to]), m[2], "%s links to a heading of %s that does not exist", name, to)
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			assert.True(t, targets[m[1]], "%s names make %s, which does not exist", name, m[1])
		}
	}
	assert.Greater(t, found, 200)
}

// named matches the name of a test in a page, with its folder if the page gives one.
var (
	named = regexp.MustCompile("`(?:([a-z/]+): )?(Test[A-Z]\\w+)(?:/[\\w/]*)?`")
	test  = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// TestDocsNameTestsThatExist checks the tests that pages name as the proof of a promise.
func TestDocsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	folders := map[string][]string{} // of the tests with a name
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(tree, name)
		for _, m := range test.FindAllStringSubmatch(string(source), -1) {
			folders[m[1]] = append(folders[m[1]], path.Dir(name))
		}
		return err
	}))
	pages, err := fs.Glob(tree, "docs/*.md")
	require.NoError(t, err)
	found := 0
	for _, name := range pages {
		text, err := fs.ReadFile(tree, name)
		require.NoError(t, err)
		for _, m := range named.FindAllStringSubmatch(strings.Join(strings.Fields(string(text)), " "), -1) {
			found++
			assert.NotEmpty(t, folders[m[2]], "%s names %s, which does not exist", name, m[2])
			if m[1] != "" {
				assert.Contains(t, folders[m[2]], m[1], "%s names %s in another folder", name, m[2])
			}
		}
	}
	assert.Greater(t, found, 50)
}

// anchors returns the fragments of a page's headings, as GitHub forms them.
func anchors(page string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(block.ReplaceAllString(page, ""), -1) {
		all = append(all, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
