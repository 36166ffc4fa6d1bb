package users_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

func TestTrimmed(t *testing.T) {
	t.Parallel()
	q := users.Query{Text: " a b ", Metadata: metadata.Condition{Path: "\tk", Text: "v \n"}, Limit: 5}
	assert.Equal(t, users.Query{Text: "a b", Metadata: metadata.Condition{Path: "k", Text: "v"}, Limit: 5}, q.Trimmed())
}
