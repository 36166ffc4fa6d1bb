package users_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

func TestCursor(t *testing.T) {
	t.Parallel()
	for _, c := range []users.Cursor{{}, {Order: users.ByID, ID: 7}, {Order: users.ByName, ID: 0, Key: "a:b:é"}, {Order: users.ByName, ID: 1 << 40, Key: "x"}, {Order: users.ByEntry}} {
		assert.Equal(t, c, users.ParseCursor(c.String()), c.String())
	}
	for _, s := range []string{"nonsense", "id", "id:7", "id:x:", "id:-7:", "id:07:", "id:+7:", "id:99999999999999999999:", "other:7:", "name:7:a\x00", ":7:", "ID:7:"} {
		assert.True(t, users.ParseCursor(s).IsZero(), "%q", s)
	}
}

func TestTrimmed(t *testing.T) {
	t.Parallel()
	q := users.Query{Prefix: " a b ", Metadata: metadata.Condition{Path: "\tk", Text: "v \n"}, Limit: 5}
	assert.Equal(t, users.Query{Prefix: "a b", Metadata: metadata.Condition{Path: "k", Text: "v"}, Limit: 5}, q.Trimmed())
}
