package users_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/metadata"
	"github.com/tocsin/tocsin/domain/users"
)

func TestNewEnrollment(t *testing.T) {
	t.Parallel()
	t.Run("TrimsAndKeepsTheSpelling", func(t *testing.T) {
		t.Parallel()
		fields := metadata.Map{"external_id": "7"}
		e, err := users.NewEnrollment(given(" Ada@Example.ORG ", " Ada ", " Lovelace "), fields)
		require.NoError(t, err)
		assert.Equal(t, users.Enrollment{Details: users.Details{Email: "Ada@Example.ORG", FirstName: "Ada", LastName: "Lovelace"}, CustomFields: fields}, e)
	})
	t.Run("OnlyTheEmailIsRequired", func(t *testing.T) {
		t.Parallel()
		_, err := users.NewEnrollment(given("ada@example.org", "", " "), nil)
		require.NoError(t, err)
		_, err = users.NewEnrollment(given(" ", "Ada", "Lovelace"), nil)
		require.EqualError(t, err, "email: is required")
	})
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := users.NewEnrollment(given("nobody", strings.Repeat("a", 201), "\x01a"), metadata.Map{"a": map[string]any{"b": "\x00"}})
		assert.Equal(t, []string{"email", "first_name", "last_name", "custom_fields.a.b"}, complaints(t, err))
	})
	t.Run("MetadataHasItsLimits", func(t *testing.T) {
		t.Parallel()
		_, err := users.NewEnrollment(given("ada@example.org", "", ""), metadata.Map{"a": strings.Repeat("x", metadata.MaxBytes)})
		assert.Equal(t, []string{"custom_fields"}, complaints(t, err))
	})
}

func TestEnrollmentKey(t *testing.T) {
	t.Parallel()
	key := func(email string) string { return users.Enrollment{Details: users.Details{Email: email}}.Key() }
	assert.Equal(t, key("\u00c9mile@Example.org"), key("e\u0301mile@EXAMPLE.ORG"), "case and composition do not count")
	assert.NotEqual(t, key("emile@example.org"), key("\u00e9mile@example.org"))
	assert.Equal(t, key("Ada@example.org"), users.NewEmailAddress("ada@Example.ORG").Key(), "the address of POST has the key of its person")
}
