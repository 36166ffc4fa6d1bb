package users_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

// complaints are the fields that an Invalid error names.
func complaints(t *testing.T, err error) []string {
	t.Helper()
	var e *fault.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, fault.Invalid, e.Kind())
	var fields []string
	for _, f := range e.Fields() {
		fields = append(fields, f.Name)
	}
	return fields
}

func TestNewUser(t *testing.T) {
	t.Parallel()
	t.Run("TrimsAndKeepsTheSpelling", func(t *testing.T) {
		t.Parallel()
		u, err := users.NewUser(" Ada/Lovelace ", "\tAda@Example.ORG\n", " Ada ", " Lovelace ")
		require.NoError(t, err)
		assert.Equal(t, users.User{Username: "Ada/Lovelace", Email: "Ada@Example.ORG", FirstName: "Ada", LastName: "Lovelace"}, u)
	})
	for name, blank := range map[string]string{"Empty": "", "Blank": " \t\n"} {
		t.Run("OnlyTheUsernameIsRequired/"+name, func(t *testing.T) {
			t.Parallel()
			u, err := users.NewUser("ada", blank, blank, blank)
			require.NoError(t, err)
			assert.Equal(t, users.User{Username: "ada"}, u)

			_, err = users.NewUser(blank, "ada@example.org", "Ada", "Lovelace")
			require.EqualError(t, err, "username: is required")
		})
	}
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := users.NewUser("", "ada", strings.Repeat("é", 201), "a\x00b")
		assert.Equal(t, []string{"username", "email", "first_name", "last_name"}, complaints(t, err))
	})
	t.Run("TheUsernameHas254CharactersAtMost", func(t *testing.T) {
		t.Parallel()
		longest := strings.Repeat("𝔸", 254)
		u, err := users.NewUser(longest, "", "", "")
		require.NoError(t, err)
		assert.Equal(t, longest, u.Username)
		_, err = users.NewUser(longest+"𝔸", "", "", "")
		assert.Equal(t, []string{"username"}, complaints(t, err))
	})
}

func TestRenamed(t *testing.T) {
	t.Parallel()
	ada := users.User{ID: 7, Username: "ada", Email: "ada@example.org", FirstName: "Ada", LastName: "Lovelace"}
	for name, c := range map[string]struct {
		first, last, wantFirst, wantLast string
		changed                          bool
	}{
		"Both":                {"Augusta", "King", "Augusta", "King", true},
		"OnlyTheFirst":        {"Augusta", "", "Augusta", "Lovelace", true},
		"OnlyTheLast":         {"", "King", "Ada", "King", true},
		"BlankIsNoChange":     {"", "", "Ada", "Lovelace", false},
		"EqualIsNoChange":     {"Ada", "Lovelace", "Ada", "Lovelace", false},
		"AnotherCaseIsChange": {"ADA", "", "ADA", "Lovelace", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ada
			want.FirstName, want.LastName = c.wantFirst, c.wantLast
			got, changed := ada.Renamed(c.first, c.last)
			assert.Equal(t, want, got)
			assert.Equal(t, c.changed, changed)
			assert.Equal(t, "Ada", ada.FirstName, "the receiver was changed")
		})
	}
}
