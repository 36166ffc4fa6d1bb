package names_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/names"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"user.first_name", "user.last_name", "listen", "database-url", "name"}
	for name, want := range map[string]string{
		"user.frist_name":        "user.first_name",
		"User.First_Name":        "user.first_name",
		"listn":                  "listen",
		"databaseurl":            "database-url",
		"database_url":           "database-url",
		"nam":                    "name",
		"":                       "",
		"retention":              "",
		strings.Repeat("x", 100): "",
		strings.Repeat("n", 64):  "",
	} {
		meant, ok := names.Nearest(name, known)
		assert.Equal(t, want, meant, name)
		assert.Equal(t, want != "", ok, name)
	}
}
