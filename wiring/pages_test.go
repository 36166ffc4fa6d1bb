package wiring_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/wiring"
)

var (
	quotation = regexp.MustCompile("`([^`]+)`")
	block     = regexp.MustCompile(`(?m)^ {4}.*$`)
	sentence  = regexp.MustCompile(`^[a-z][a-z',;-]*( [a-zA-Z',;:-]+){2,}$`)
	placed    = regexp.MustCompile(`^[A-Z]+$`) // stands for an argument
)

// others begin quotations of what other programs say or run.
var others = []string{"systemctl ", "findmnt ", "docker ", "kubectl ", "apt-get ", "database is locked", "database disk image is malformed"}

// TestDocsQuoteExistingOutput checks the pages for operators: the program says each sentence that
// they quote, and has each command with its flags.
func TestDocsQuoteExistingOutput(t *testing.T) {
	t.Parallel()
	root := ".."
	said := sources(t, root)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "runbooks", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	helps := map[string]string{}
	for _, page := range append(pages, filepath.Join(root, "docs", "operations.md")) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range quotation.FindAllStringSubmatch(block.ReplaceAllString(string(text), ""), -1) {
			quoted := strings.Join(strings.Fields(found[1]), " ")
			if command, isCommand := strings.CutPrefix(quoted, "tocsin "); isCommand {
				checkCommand(t, helps, filepath.Base(page), strings.Fields(command))
				continue
			}
			other := false
			for _, begin := range others {
				other = other || strings.HasPrefix(quoted, begin)
			}
			if !other && sentence.MatchString(quoted) {
				assert.True(t, strings.Contains(said, quoted), "%s: the program says %q", filepath.Base(page), quoted) //nolint:testifylint // Contains would print all sources.
			}
		}
	}
}

// checkCommand checks that the program has a command and its flags.
func checkCommand(t *testing.T, helps map[string]string, page string, words []string) {
	t.Helper()
	var path, flags []string
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "--"):
			flags = append(flags, word)
		case len(flags) == 0 && !placed.MatchString(word) && !strings.Contains(word, "/"):
			path = append(path, word)
		}
	}
	name := strings.Join(path, " ")
	if _, known := helps[name]; !known {
		var out, complaint bytes.Buffer
		status := wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: &out, Err: &complaint}, nil).Run(t.Context(), append(path, "--help"))
		assert.Zero(t, status, "%s: tocsin %s: %s", page, name, complaint.String())
		assert.Contains(t, out.String(), "tocsin "+name, "%s: the command exists", page)
		helps[name] = out.String()
	}
	for _, flag := range flags {
		assert.Regexp(t, regexp.QuoteMeta(flag)+`\b`, helps[name], "%s: tocsin %s", page, name)
	}
}

// sources returns the source text of the program.
func sources(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range []string{"adapters", "app", "configs", "domain", "ports", "wiring"} {
		require.NoError(t, fs.WalkDir(os.DirFS(root), folder, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(root, name))
			all.Write(text)
			return err
		}))
	}
	return strings.ReplaceAll(all.String(), "`", "") // Pages quote within these.
}
