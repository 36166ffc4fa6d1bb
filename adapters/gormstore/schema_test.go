package gormstore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm/schema"

	"github.com/tocsin/tocsin/adapters/gormstore"
)

func parsed(t *testing.T, row any) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(row, &sync.Map{}, schema.NamingStrategy{IdentifierMaxLength: 64})
	require.NoError(t, err)
	return s
}

func TestEveryColumnOfEveryRowExists(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		dialect, _, _ := strings.Cut(url, ":")
		there := columns(t, open(t, url).Handle(), dialect)
		for _, row := range gormstore.Rows() {
			s := parsed(t, row)
			assert.NotEmpty(t, s.DBNames, s.Name)
			for _, column := range s.DBNames {
				assert.Contains(t, there, s.Table+"."+column, s.Name)
			}
		}
	})
}

// TestReferencesHaveIndexes finds references without an index, because deleting the row that they
// refer to reads the whole table then. Nothing deletes organizations and projects.
func TestReferencesHaveIndexes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		unindexed := `SELECT t.name || '.' || f."from" FROM sqlite_master AS t JOIN pragma_foreign_key_list(t.name) AS f
			WHERE t.type = 'table' AND f.seq = 0 AND f."table" NOT IN ('organizations', 'projects')
			AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name) AS c WHERE c.pk = 1 AND c.name = f."from")
			AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name) AS i JOIN pragma_index_info(i.name) AS c
				WHERE i.partial = 0 AND c.seqno = 0 AND c.name = f."from")`
		if strings.HasPrefix(url, "postgres") {
			unindexed = `SELECT f.conrelid::regclass || ' ' || pg_get_constraintdef(f.oid) FROM pg_constraint AS f
				WHERE f.contype = 'f' AND f.connamespace = current_schema()::regnamespace
				AND f.confrelid NOT IN ('organizations'::regclass, 'projects'::regclass)
				AND NOT EXISTS (SELECT 1 FROM pg_index AS i
					WHERE i.indrelid = f.conrelid AND i.indpred IS NULL AND i.indkey[0] = f.conkey[1])`
		}
		assert.Empty(t, rowsOf(t, open(t, url).Handle(), unindexed))
	})
}

// TestRowTags forbids tags that change values silently: defaults (false is stored as true), soft
// deletion, associations, hooks.
func TestRowTags(t *testing.T) {
	t.Parallel()
	for _, row := range gormstore.Rows() {
		s := parsed(t, row)
		for _, f := range s.Fields {
			assert.False(t, f.HasDefaultValue && !f.PrimaryKey, "%s.%s has a default", s.Name, f.Name)
		}
		assert.Empty(t, s.DeleteClauses, s.Name)
		assert.Empty(t, s.Relationships.Relations, s.Name)
		for method := range reflect.TypeOf(row).Methods() {
			assert.False(t, strings.HasPrefix(method.Name, "Before") || strings.HasPrefix(method.Name, "After"), "%s.%s is a hook", s.Name, method.Name)
		}
	}
}

// TestRowListIsComplete compares the list of the tests above with the source.
func TestRowListIsComplete(t *testing.T) {
	t.Parallel()
	var listed, written []string
	for _, row := range gormstore.Rows() {
		listed = append(listed, reflect.TypeOf(row).Name())
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range source.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "TableName" {
				written = append(written, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(written)
	assert.Equal(t, written, listed)
}
