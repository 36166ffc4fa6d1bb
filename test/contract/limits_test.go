package contract_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLimits(t *testing.T) {
	t.Parallel()

	// Limits count characters, not bytes.
	letters := map[string]string{"OfOneByte": "x", "OfTwoBytes": "ä", "OfFourBytes": "😀"}
	t.Run("NamesHave200Characters", both(each(letters, func(w *world, letter string) {
		fits, over := strings.Repeat(letter, 200), strings.Repeat(letter, 201)
		email := rand.Text() + "@example.org"
		w.post(usersPath, object{"email": email, "first_name": over, "last_name": over}).isBadRequestFor("first_name", "last_name")
		u := read[user](w.post(usersPath, object{"email": email, "first_name": fits, "last_name": fits}).is(http.StatusCreated))
		require.Equal(w, fits, u.FirstName)
		w.patch(userPath(email), object{"first_name": over}).isBadRequestFor("first_name")
		w.post(listsPath, object{"name": over}).isBadRequestFor("name")
		require.Equal(w, fits, read[distributionList](w.post(listsPath, object{"name": fits}).is(http.StatusCreated)).Name)
		w.post(addressesPath(email), object{"value": "x", "name": over}).isBadRequestFor("name")
		w.post(addressesPath(email), object{"value": "x", "name": fits}).is(http.StatusCreated)
	})))

	t.Run("UsernamesAndEmailsHave254Characters", both(func(w *world) {
		domain := strings.Repeat(strings.Repeat("d", 60)+".", 3) + "example.org"
		fits, over := strings.Repeat("x", 253-len(domain))+"@"+domain, strings.Repeat("x", 254-len(domain))+"@"+domain
		w.post(usersPath, object{"email": over}).isBadRequestFor("email")
		w.post(usersPath, object{"email": strings.Repeat("x", 65) + "@example.org"}).isBadRequestFor("email")
		w.post(usersPath, object{"email": fits}).is(http.StatusCreated)
		w.get(userPath(fits)).is(http.StatusOK)
		fits, over = strings.Repeat("ü", 254), strings.Repeat("ü", 255)
		w.post(webPath+"register/", object{"username": over}).isBadRequestFor("username")
		w.post(webPath+"register/", object{"username": fits}).is(http.StatusCreated)
		require.Equal(w, fits, read[user](w.get(userPath(fits)).is(http.StatusOK)).Username)
		w.post(webPath+"register/", object{"username": "ben", "email": "x" + strings.Repeat("x", 254) + "@example.org"}).isBadRequestFor("email")
	}))

	t.Run("AddressValuesHave2048Characters", both(func(w *world) {
		w.enroll("anna@example.org")
		for i, start := range []string{"https://example.org/", "", "漢"} {
			letter := []string{"x", "y", "字"}[i]
			n := 2048 - len([]rune(start))
			w.post(addressesPath("anna@example.org"), object{"value": start + strings.Repeat(letter, n+1)}).isBadRequestFor("value")
			value := start + strings.Repeat(letter, n)
			w.post(addressesPath("anna@example.org"), object{"value": value}).is(http.StatusCreated)
			require.Equal(w, value, read[address](w.post(addressesPath("anna@example.org"), object{"value": value}).is(http.StatusOK)).Value)
		}
	}))

	t.Run("MetadataHas64KiBSentOrMerged", both(func(w *world) {
		sized := func(key string, size int) object { return object{key: strings.Repeat("x", size-len(key)-7)} } // {"k":"…"}
		w.post(usersPath, object{"email": "anna@example.org", "custom_fields": sized("k", 64<<10+1)}).isBadRequestFor("custom_fields")
		w.post(usersPath, object{"email": "anna@example.org", "custom_fields": sized("k", 64<<10)}).is(http.StatusCreated)
		w.unchanged(func() {
			w.patch(userPath("anna@example.org"), object{"custom_fields": object{"l": 1}}).isBadRequestFor("custom_fields")
			w.patch(userPath("anna@example.org"), object{"custom_fields": object{"l": 1}, "first_name": "Anna"}).isBadRequestFor("custom_fields")
			w.patch(userPath("anna@example.org"), object{"custom_fields": sized("k", 64<<10+1), "_mode": "remove"}).isBadRequestFor("custom_fields")
		})
		w.patch(userPath("anna@example.org"), object{"custom_fields": object{"l": 1}, "_mode": "rewrite"}).is(http.StatusOK)

		register := webPath + "register/"
		w.post(register, object{"username": "ben", "custom_fields": sized("k", 64<<10+1)}).isBadRequestFor("custom_fields")
		w.post(register, object{"username": "ben", "custom_fields": sized("k", 64<<10)}).is(http.StatusCreated)
		w.unchanged(func() {
			w.post(register, object{"username": "ben", "custom_fields": object{"l": 1}}).isBadRequestFor("custom_fields")
		})
	}))

	t.Run("WhiteSpaceAroundIsTrimmed", both(func(w *world) {
		u := read[user](w.post(usersPath, object{"email": " \tanna@example.org\n", "first_name": "  Anna ", "last_name": "\u00a0Lee\u2003"}).is(http.StatusCreated))
		require.Equal(w, []string{"anna@example.org", "anna@example.org", "Anna", "Lee"}, []string{u.Username, u.Email, u.FirstName, u.LastName})
		require.Equal(w, "new", read[distributionList](w.post(listsPath, object{"name": " new "}).is(http.StatusCreated)).Name)
		a := read[address](w.post(addressesPath("anna@example.org"), object{"value": " room 5 ", "name": " desk "}).is(http.StatusCreated))
		require.Equal(w, []string{"room 5", "desk"}, []string{a.Value, a.Name})
		done := w.register(" ben ", object{"distribution_list": " new "})
		require.Equal(w, "ben", done.User.Username)
		require.Equal(w, "new", done.List.Name)
		require.Equal(w, []string{"anna@example.org"}, w.add(w.list(listsPath, "new"), " anna@example.org "))
	}))

	t.Run("ControlCharactersInNamesAreRefused", both(func(w *world) {
		for _, control := range []string{"\u0001", "\n", "\u007f", "\u0085"} {
			w.post(usersPath, object{"email": "anna@example.org", "first_name": "a" + control + "b"}).isBadRequestFor("first_name")
			w.post(listsPath, object{"name": "a" + control + "b"}).isBadRequestFor("name")
			w.post(webPath+"register/", object{"username": "a" + control + "b"}).isBadRequestFor("username")
		}
		assert.Empty(w, read[[]user](w.get(usersPath)))
	}))
}
