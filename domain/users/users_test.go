package users_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/users"
)

// complaints returns the fields that an Invalid error names.
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
		u, err := users.NewUser(" Ada/Lovelace ")
		require.NoError(t, err)
		assert.Equal(t, users.User{Username: "Ada/Lovelace"}, u)
	})
	for name, blank := range map[string]string{"Empty": "", "Blank": " \t\n"} {
		t.Run("IsRequired/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := users.NewUser(blank)
			require.EqualError(t, err, "username: is required")
		})
	}
	t.Run("TheUsernameHas254CharactersAtMost", func(t *testing.T) {
		t.Parallel()
		longest := strings.Repeat("𝔸", 254)
		u, err := users.NewUser(longest)
		require.NoError(t, err)
		assert.Equal(t, longest, u.Username)
		_, err = users.NewUser(longest + "𝔸")
		assert.Equal(t, []string{"username"}, complaints(t, err))
	})
}

// given returns a function that returns details by their names.
func given(email, first, last string) func(name string) string {
	all := map[string]string{"email": email, "first_name": first, "last_name": last}
	return func(name string) string { return all[name] }
}

// TestEveryDetailIsListed compares the list of details with the fields of the struct.
func TestEveryDetailIsListed(t *testing.T) {
	t.Parallel()
	var d users.Details
	for i, one := range d.List() {
		*one.Value = one.Name
		assert.Equal(t, one.Name, reflect.ValueOf(d).Field(i).String(), "the fields are listed in their order")
	}
	assert.Len(t, d.List(), reflect.TypeFor[users.Details]().NumField())
	assert.Equal(t, []string{"email", "first_name", "last_name"}, users.DetailNames())
}

func TestNewDetails(t *testing.T) {
	t.Parallel()
	t.Run("TrimsAndKeepsTheSpelling", func(t *testing.T) {
		t.Parallel()
		d, err := users.NewDetails(given("\tAda@Example.ORG\n", " Ada ", " Lovelace "))
		require.NoError(t, err)
		assert.Equal(t, users.Details{Email: "Ada@Example.ORG", FirstName: "Ada", LastName: "Lovelace"}, d)
	})
	for name, blank := range map[string]string{"Empty": "", "Blank": " \t\n"} {
		t.Run("NothingIsRequired/"+name, func(t *testing.T) {
			t.Parallel()
			d, err := users.NewDetails(given(blank, blank, blank))
			require.NoError(t, err)
			assert.Zero(t, d)
		})
	}
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := users.NewDetails(given("ada", strings.Repeat("é", 201), "a\x00b"))
		assert.Equal(t, []string{"email", "first_name", "last_name"}, complaints(t, err))
	})
}

func TestDetailsWith(t *testing.T) {
	t.Parallel()
	ada := users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "Lovelace"}
	for name, c := range map[string]struct{ given, want users.Details }{
		"All":            {users.Details{Email: "a@example.org", FirstName: "Augusta", LastName: "King"}, users.Details{Email: "a@example.org", FirstName: "Augusta", LastName: "King"}},
		"OnlyTheFirst":   {users.Details{FirstName: "Augusta"}, users.Details{Email: "ada@example.org", FirstName: "Augusta", LastName: "Lovelace"}},
		"OnlyTheLast":    {users.Details{LastName: "King"}, users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "King"}},
		"OnlyTheEmail":   {users.Details{Email: "ADA@example.org"}, users.Details{Email: "ADA@example.org", FirstName: "Ada", LastName: "Lovelace"}},
		"BlankIsNothing": {users.Details{}, ada},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, ada.With(c.given))
		})
	}
}

func TestAmbiguousNamesUsernames(t *testing.T) {
	t.Parallel()
	ms := []users.Member{{User: users.User{Username: "ada"}}, {User: users.User{Username: "bob"}}, {User: users.User{Username: "eve"}}}
	err := users.Ambiguous(ms, 3)
	require.ErrorIs(t, err, users.ErrAmbiguous)
	require.EqualError(t, err, "several members have this e-mail: give one of their usernames: ada, bob, eve")
	require.EqualError(t, users.Ambiguous(ms, 2), "several members have this e-mail: give one of their usernames: ada, bob and others")
}
