package words_test

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/users"
)

// fields returns the names of fields in the audit log: the keys of audit.State, and the details of
// a member.
func fields(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, name := range users.DetailNames() {
		all[name] = true
	}
	add := func(key ast.Expr) {
		if text, is := key.(*ast.BasicLit); is && text.Kind == token.STRING {
			name, err := strconv.Unquote(text.Value)
			require.NoError(t, err)
			all[name] = true
		}
	}
	for _, tree := range parsed(t, "app", "app/*", "domain/*") {
		states := map[string]bool{} // variables that hold one
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if of, is := n.Type.(*ast.SelectorExpr); is && of.Sel.Name == "State" && of.X.(*ast.Ident).Name == "audit" {
					for _, e := range n.Elts {
						add(e.(*ast.KeyValueExpr).Key)
					}
				}
			case *ast.AssignStmt:
				for i, right := range n.Rhs {
					lit, is := right.(*ast.CompositeLit)
					if of, named := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); is && named {
						if s, is := lit.Type.(*ast.SelectorExpr); is && s.Sel.Name == "State" {
							states[of.Name] = true
						}
					}
				}
				for _, left := range n.Lhs {
					if at, is := left.(*ast.IndexExpr); is {
						if of, named := at.X.(*ast.Ident); named && states[of.Name] {
							add(at.Index)
						}
					}
				}
			}
			return true
		})
	}
	return all
}

func TestFieldsAreTranslated(t *testing.T) {
	t.Parallel()
	for _, tag := range others {
		assertSame(t, fields(t), load(t, tag).Fields)
	}
	all := fields(t)
	for name := range words.English().Fields {
		assert.True(t, all[name], "nobody records %q", name)
	}
	assert.Equal(t, "Metadata: plan", words.English().Translate(words.Field("custom_fields.plan")))
	assert.Equal(t, "Sessions ended", words.English().Translate(words.Field("sessions_ended")))
	assert.Equal(t, "Metadaten: plan", load(t, others[0]).Translate(words.Field("custom_fields.plan")))
}
