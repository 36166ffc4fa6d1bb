package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSentinels walks every exported error of the domain, the ports and the use cases: each is made
// by fault.New with a kind and a sentence, or refines one that is, so that none is Internal, and
// shown as a fault of ours, by accident.
func TestSentinels(t *testing.T) {
	t.Parallel()
	found := 0
	tree := os.DirFS("../..")
	for _, layer := range []string{"domain", "ports", "app"} {
		require.NoError(t, fs.WalkDir(tree, layer, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for sentinel, value := range sentinels(file) {
				found++
				assert.Empty(t, objection(value), "%s: %s", name, sentinel)
			}
			return nil
		}))
	}
	assert.Greater(t, found, 40, "the walk finds the sentinels")
}

// sentinels returns the exported package variables of a file that are errors, by their name or by
// how they are made.
func sentinels(file *ast.File) map[string]ast.Expr {
	found := map[string]ast.Expr{}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, s := range group.Specs {
			spec := s.(*ast.ValueSpec)
			for i, name := range spec.Names {
				var value ast.Expr
				if i < len(spec.Values) {
					value = spec.Values[i]
				}
				if name.IsExported() && (strings.HasPrefix(name.Name, "Err") || made(value) == "fault.New") {
					found[name.Name] = value
				}
			}
		}
	}
	return found
}

// objection returns what is wrong with the creation of a sentinel; empty if nothing is.
func objection(value ast.Expr) string {
	if strings.HasSuffix(made(value), ".With") {
		return "" // It has the kind of the sentinel that it refines.
	}
	if made(value) != "fault.New" {
		return "is not made by fault.New, so that it has no kind"
	}
	arguments := value.(*ast.CallExpr).Args
	switch kind := qualified(arguments[0]); {
	case !strings.HasPrefix(kind, "fault."):
		return "does not say its kind by name"
	case kind == "fault.Internal":
		return "is Internal: nobody could do anything about it, so nobody needs its name"
	}
	if sentence, ok := arguments[1].(*ast.BasicLit); !ok || len(sentence.Value) < len(`"it is"`) {
		return "says nothing"
	}
	return ""
}

// made returns the name of the function that a value calls.
func made(value ast.Expr) string {
	if call, ok := value.(*ast.CallExpr); ok {
		return qualified(call.Fun)
	}
	return ""
}

// qualified returns an expression as `package.Name`.
func qualified(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok {
			return p.Name + "." + s.Sel.Name
		}
	}
	return ""
}
