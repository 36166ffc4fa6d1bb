package contract_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../"

// TestDocs checks that every test that docs/contract.md names exists.
func TestDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "docs/contract.md")
	require.NoError(t, err)
	rules := parseRules(string(text))

	t.Run("EverySectionIsThere", func(t *testing.T) {
		t.Parallel()
		var want []string
		for i := range 9 {
			want = append(want, fmt.Sprintf("Contract %d", i+1))
		}
		for i := range 7 {
			want = append(want, fmt.Sprintf("Decisions %d", i+1))
		}
		var got []string
		for _, r := range rules {
			if len(got) == 0 || got[len(got)-1] != r.section {
				got = append(got, r.section)
			}
		}
		require.Equal(t, want, got)
	})

	t.Run("EveryRuleNamesTestsThatExist", func(t *testing.T) {
		t.Parallel()
		packages := map[string]suite{}
		for _, r := range rules {
			assert.True(t, len(r.tests) > 0 || strings.HasPrefix(r.cell, "not yet"), "line %d: no test holds: %s", r.line, r.text)
			for _, name := range r.tests {
				if _, known := packages[name.folder]; !known {
					packages[name.folder] = readSuite(t, name.folder)
				}
				assert.NoError(t, packages[name.folder].has(name.path), "line %d: %s: %s", r.line, name.folder, strings.Join(name.path, "/"))
			}
		}
	})

	t.Run("MissingIsNoticed", func(t *testing.T) {
		t.Parallel()
		here := readSuite(t, "test/contract")
		require.NoError(t, here.has([]string{"TestDocs", "MissingIsNoticed"}))
		require.Error(t, here.has([]string{"TestDocs", "Nothing"}))
		require.Error(t, here.has([]string{"TestNothing"}))
	})
}

// rule is a line of a table: a promise, and its tests.
type rule struct {
	line                int
	section, text, cell string
	tests               []testName
}

// testName names a test of a folder: its function and, if given, its sub tests.
type testName struct {
	folder string
	path   []string
}

var (
	section   = regexp.MustCompile(`^## ((?:Contract|Decisions) \d)`)
	reference = regexp.MustCompile("`(?:([a-z0-9/]+): )?((?:Test|Fuzz)[^`]+)`")
)

func parseRules(text string) []rule {
	var rules []rule
	current := ""
	for i, line := range strings.Split(text, "\n") {
		if m := section.FindStringSubmatch(line); m != nil {
			current = m[1]
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 2 || cells[0] == "Rule" {
			continue
		}
		r := rule{line: i + 1, section: current, text: cells[0], cell: cells[1]}
		for _, m := range reference.FindAllStringSubmatch(cells[1], -1) {
			folder := m[1]
			if folder == "" {
				folder = "test/contract"
			}
			r.tests = append(r.tests, testName{folder, strings.Split(m[2], "/")})
		}
		rules = append(rules, r)
	}
	return rules
}

// suite is the tests of a package: the names of the sub tests by function.
type suite struct {
	functions map[string]map[string]bool
	shared    map[string]bool // spelled out elsewhere in the package, in tables that tests share
}

func (s suite) has(path []string) error {
	own, exists := s.functions[path[0]]
	if !exists {
		return fmt.Errorf("there is no function %s", path[0])
	}
	for _, name := range path[1:] {
		if !own[name] && !s.shared[name] {
			return fmt.Errorf("%s has no sub test %s", path[0], name)
		}
	}
	return nil
}

func readSuite(t *testing.T, folder string) suite {
	t.Helper()
	files, err := filepath.Glob(root + folder + "/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files, "there is no package %s", folder)
	s := suite{functions: map[string]map[string]bool{}, shared: map[string]bool{}}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			into := s.shared
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				into = map[string]bool{}
				s.functions[f.Name.Name] = into
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if literal := subTest(n); literal != nil {
					text, _ := strconv.Unquote(literal.Value) // The parser has read it.
					into[strings.ReplaceAll(text, " ", "_")] = true
				}
				return true
			})
		}
	}
	return s
}

// subTest returns the literal that names a sub test: an argument of Run, a key of a table, or the
// name of a row.
func subTest(n ast.Node) *ast.BasicLit {
	var named ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" && len(n.Args) > 0 {
			named = n.Args[0]
		}
	case *ast.KeyValueExpr:
		named = n.Key
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "name" {
			named = n.Value
		}
	case *ast.CompositeLit:
		if len(n.Elts) > 0 {
			named = n.Elts[0]
		}
	}
	literal, ok := named.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return nil
	}
	return literal
}
