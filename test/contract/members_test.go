package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMember is about the values that any member of a body may have.
func TestMember(t *testing.T) {
	t.Parallel()
	nested := func(depth int) raw {
		return raw(`{"email": "anna@example.org", "custom_fields": ` + strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat(`}`, depth) + `}`)
	}
	patched := func(w *world, body raw) answer {
		w.Helper()
		w.enroll("anna@example.org")
		return w.patch(userPath("anna@example.org"), body)
	}

	t.Run("UnknownIsIgnored", both(func(w *world) {
		w.post(usersPath, object{"email": "anna@example.org", "is_admin": true, "x": list{nil}, "": 1}).is(http.StatusCreated)
		w.post(listsPath, object{"name": "new", "id": 1, "members": "x"}).is(http.StatusCreated)
		w.post(webPath+"register/", object{"username": "ben", "locked": true, "enable_notifications": false, "role": "administrator"}).is(http.StatusCreated)
	}))

	t.Run("NestedDeeperThan32LevelsIs400", both(func(w *world) {
		// The body is the first level, and custom_fields is the second one.
		w.post(usersPath, nested(32)).is(http.StatusBadRequest)
		w.post(usersPath, nested(31)).is(http.StatusCreated)
		arrays := raw(`{"x": ` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `, "email": "ben@example.org"}`)
		w.unchanged(func() { w.post(usersPath, arrays).is(http.StatusBadRequest) })
		w.unchanged(func() { w.post(usersPath, raw(strings.Repeat("[", 500_000))).is(http.StatusBadRequest) })
		w.unchanged(func() {
			w.post(usersPath, raw(strings.Repeat("[", 500_000)+strings.Repeat("]", 500_000))).is(http.StatusBadRequest)
		})
	}))

	t.Run("WithNULIs400ThatNamesIt", both(func(w *world) {
		w.post(usersPath, raw(`{"email": "an\u0000na@example.org"}`)).isBadRequestFor("email")
		w.post(usersPath, raw(`{"email": "anna@example.org", "first_name": "\u0000"}`)).isBadRequestFor("first_name")
		patched(w, raw(`{"custom_fields": {"a": {"b": ["ok", "\u0000"]}}}`)).isBadRequestFor("custom_fields.a.b[1]")
		w.post(listsPath, raw(`{"name": "a\u0000"}`)).isBadRequestFor("name")
	}))

	t.Run("WithInvalidUTF8Is400ThatNamesIt", both(func(w *world) {
		w.post(usersPath, raw("{\"email\": \"\xff@example.org\"}")).isBadRequestFor("email")
		w.post(usersPath, raw("{\"email\": \"anna@example.org\", \"last_name\": \"\xc3\x28\"}")).isBadRequestFor("last_name")
		w.post(usersPath, raw("{\"email\": \"anna@example.org\", \"custom_fields\": {\"k\": \"\xed\xa0\x80\"}}")).isBadRequestFor("custom_fields.k")
		w.post(usersPath, raw(`{"email": "anna@example.org", "first_name": "\ud800"}`)).isBadRequestFor("first_name")
		w.post(idPath(listsPath, w.list(listsPath, "customers").ID)+"add/", raw("[\"\xff\"]")).isBadRequestFor("[0]")
	}))

	t.Run("NamedTwiceIs400ThatNamesIt", both(func(w *world) {
		w.post(usersPath, raw(`{"email": "anna@example.org", "email": "ben@example.org"}`)).isBadRequestFor("email")
		w.post(usersPath, raw(`{"email": "anna@example.org", "\u0065mail": "ben@example.org"}`)).isBadRequestFor("email")
		w.post(usersPath, raw(`{"email": "anna@example.org", "custom_fields": {"a": {"k": 1, "k": 1}}}`)).isBadRequestFor("custom_fields.a.k")
	}))

	t.Run("WithANumberThatDoesNotFitIs400ThatNamesIt", both(func(w *world) {
		subscribe := w.subscribePath(webPath, "Customer")
		for _, number := range []string{"9223372036854775808", "-9223372036854775809", "1e30", "1.5", "15e-1", "99999999999999999999"} {
			w.post(listsPath, raw(`{"name": "new", "application": `+number+`}`)).isBadRequestFor("application")
			w.post(subscribe, raw(`{"assignment": `+number+`}`)).isBadRequestFor("assignment")
			w.delete(subscribe, raw(`{"assignment": `+number+`}`)).isBadRequestFor("assignment")
		}
	}))

	t.Run("MetadataKeepsNumbersAsSent", both(func(w *world) {
		fields := `{"a":1.0,"b":1e2,"c":-0,"d":12345678901234567890123,"e":0.10,"f":[1E-7,1.50],"g":9007199254740993,"h":1.7976931348623157e308,"i":1e-400}`
		a := patched(w, raw(`{"custom_fields": `+fields+`}`)).is(http.StatusOK)
		require.Equal(w, fields, string(read[user](a).CustomFields))
		require.Equal(w, fields, string(read[user](w.get(userPath("anna@example.org"))).CustomFields))
		done := w.post(webPath+"register/", raw(`{"username": "anna@example.org", "custom_fields": `+fields+`}`)).is(http.StatusOK)
		require.Equal(w, fields, string(read[registered](done).Membership.CustomFields))
	}))

	t.Run("BeyondADoubleIs400", both(func(w *world) {
		w.enroll("anna@example.org")
		w.unchanged(func() {
			for _, number := range []string{"1e400", "-1e309", "1" + strings.Repeat("0", 400)} {
				fields := `{"a": {"b": [1, ` + number + `]}}`
				w.patch(userPath("anna@example.org"), raw(`{"custom_fields": `+fields+`}`)).isBadRequestFor("custom_fields.a.b[1]")
				w.post(usersPath, raw(`{"email": "ben@example.org", "custom_fields": `+fields+`}`)).isBadRequestFor("custom_fields.a.b[1]")
				w.post(webPath+"register/", raw(`{"username": "ben", "custom_fields": `+fields+`}`)).isBadRequestFor("custom_fields.a.b[1]")
			}
		})
	}))

	t.Run("MetadataKeepsAnyText", both(func(w *world) {
		fields := `{"<b>&":"\"\\/\b\f\n\r\t\u2028 ä 漢 😀 \u0001","":"","__proto__":{},"nothing":null,"list":[{},[],""]}`
		a := patched(w, raw(`{"custom_fields": `+fields+`}`)).is(http.StatusOK)
		require.JSONEq(w, fields, string(read[user](a).CustomFields))
		require.JSONEq(w, fields, string(read[user](w.get(userPath("anna@example.org"))).CustomFields))
	}))

	t.Run("NullOrEmptyIsAbsent", both(func(w *world) {
		nothing := object{"email": "anna@example.org", "first_name": nil, "last_name": "", "custom_fields": nil}
		u := read[user](w.post(usersPath, nothing).is(http.StatusCreated))
		require.Empty(w, u.FirstName+u.LastName)
		require.JSONEq(w, `{}`, string(u.CustomFields))

		w.patch(userPath("anna@example.org"), object{"first_name": "Anna", "custom_fields": object{"k": 1}}).is(http.StatusOK)
		for _, absent := range []any{nil, ""} {
			u = read[user](w.patch(userPath("anna@example.org"), object{"first_name": absent, "last_name": absent, "_mode": absent, "custom_fields": nil}).is(http.StatusOK))
			require.Equal(w, "Anna", u.FirstName)
			require.JSONEq(w, `{"k": 1}`, string(u.CustomFields))

			w.post(addressesPath("anna@example.org"), object{"value": "room " + fmt.Sprint(absent), "name": absent, "assign_to_preferred_channel": nil}).is(http.StatusCreated)
			l := read[distributionList](w.post(listsPath, object{"name": fmt.Sprintf("list %v", absent), "application": nil}).is(http.StatusCreated))
			require.Nil(w, l.Application)

			done := read[registered](w.post(webPath+"register/", object{
				"username": "anna@example.org", "first_name": absent, "last_name": absent, "email": absent, "custom_fields": nil,
				"active": nil, "addresses": nil, "distribution_list": absent,
			}).is(http.StatusOK))
			require.True(w, done.Membership.Active)
			require.Nil(w, done.List)
		}
	}))

	t.Run("RequiredIsMissingWhenNullEmptyOrBlank", both(func(w *world) {
		w.enroll("anna@example.org")
		subscribe := w.subscribePath(webPath, "Customer")
		w.unchanged(func() {
			for _, missing := range []any{nil, "", " \t\n"} {
				w.post(usersPath, object{"email": missing}).isBadRequestFor("email")
				w.post(listsPath, object{"name": missing}).isBadRequestFor("name")
				w.post(addressesPath("anna@example.org"), object{"value": missing}).isBadRequestFor("value")
				w.post(webPath+"register/", object{"username": missing}).isBadRequestFor("username")
				w.post(webPath+"register/", object{"username": "ben", "addresses": list{object{"value": missing}}}).isBadRequestFor("addresses[0].value")
			}
			w.post(usersPath, object{}).isBadRequestFor("email")
			w.post(listsPath, object{}).isBadRequestFor("name")
			w.post(addressesPath("anna@example.org"), object{}).isBadRequestFor("value")
			w.post(webPath+"register/", object{}).isBadRequestFor("username")
			for _, missing := range []object{{}, {"assignment": nil}} {
				w.post(subscribe, missing).isBadRequestFor("assignment")
				w.delete(subscribe, missing).isBadRequestFor("assignment")
			}
		})
	}))

	t.Run("WrongTypeIs400NamingIt", both(func(w *world) {
		w.enroll("anna@example.org")
		subscribe := w.subscribePath(webPath, "Customer")
		word, number, boolean, array, obj := any("word"), any(1), any(true), any(list{}), any(object{})
		cases := []struct {
			method, path string
			good         object
			wrong        map[string][]any
		}{
			{http.MethodPost, usersPath, object{"email": "new@example.org"}, map[string][]any{
				"email": {number, boolean, array, obj}, "first_name": {number, boolean, array, obj},
				"last_name": {number, boolean, array, obj}, "custom_fields": {word, "", number, boolean, array},
			}},
			{http.MethodPatch, userPath("anna@example.org"), object{}, map[string][]any{
				"custom_fields": {word, "", number, boolean, array}, "_mode": {number, boolean, array, obj, word},
				"first_name": {number, boolean, array, obj}, "last_name": {number, boolean, array, obj},
			}},
			{http.MethodPost, addressesPath("anna@example.org"), object{"value": "x"}, map[string][]any{
				"value": {number, boolean, array, obj}, "name": {number, boolean, array, obj},
				"assign_to_preferred_channel": {word, "true", "", number, array, obj},
			}},
			{http.MethodPost, listsPath, object{"name": "new"}, map[string][]any{
				"name": {number, boolean, array, obj}, "application": {word, "1", "", boolean, array, obj},
			}},
			{http.MethodPost, webPath + "register/", object{"username": "ben"}, map[string][]any{
				"username": {number, boolean, array, obj}, "first_name": {number}, "last_name": {array}, "email": {obj, boolean},
				"custom_fields": {word, "", array, number}, "active": {word, "true", "", number, array, obj},
				"addresses": {word, "", number, boolean, obj}, "distribution_list": {number, boolean, array, obj},
			}},
			{http.MethodPost, subscribe, object{"assignment": 1}, map[string][]any{
				"assignment": {word, "1", "", boolean, array, obj}, "active": {word, "true", "", number, array, obj},
			}},
			{http.MethodDelete, subscribe, object{"assignment": 1}, map[string][]any{
				"assignment": {word, "1", "", boolean, array, obj},
			}},
		}
		w.unchanged(func() {
			for _, c := range cases {
				for member, values := range c.wrong {
					for _, v := range values {
						body := maps.Clone(c.good)
						body[member] = v
						w.do(c.method, c.path, body).isBadRequestFor(member)
					}
				}
			}
			register := webPath + "register/"
			w.post(register, object{"username": "ben", "addresses": list{"a@example.org"}}).isBadRequestFor("addresses[0]")
			w.post(register, object{"username": "ben", "addresses": list{preferred("x"), object{"value": 1, "name": 2, "assign_to_preferred_channel": 3}}}).
				isBadRequestFor("addresses[1].value", "addresses[1].name", "addresses[1].assign_to_preferred_channel")
			w.post(idPath(listsPath, w.list(listsPath, "customers").ID)+"add/", list{"anna@example.org", 1, nil, object{}, list{}, true}).
				isBadRequestFor("[1]", "[2]", "[3]", "[4]", "[5]")
		})
	}))

	t.Run("MistakesAreNamedAllAtOnce", both(func(w *world) {
		w.enroll("anna@example.org")
		long := strings.Repeat("x", 201)
		w.unchanged(func() {
			w.post(usersPath, object{"email": "nothing", "first_name": long, "last_name": 1, "custom_fields": "x"}).
				isBadRequestFor("email", "first_name", "last_name", "custom_fields")
			w.patch(userPath("anna@example.org"), object{"_mode": "wild", "first_name": long, "last_name": true, "custom_fields": list{}}).
				isBadRequestFor("_mode", "first_name", "last_name", "custom_fields")
			w.post(addressesPath("anna@example.org"), object{"name": long, "assign_to_preferred_channel": 1}).
				isBadRequestFor("value", "name", "assign_to_preferred_channel")
			w.post(listsPath, object{"name": long, "application": "x"}).isBadRequestFor("name", "application")
			w.post(webPath+"register/", object{
				"first_name": long, "last_name": 1, "email": "nothing", "custom_fields": 1, "active": "no", "distribution_list": 1,
				"addresses": list{object{"value": "ok"}, object{"name": long}, object{"value": 1}, 1},
			}).isBadRequestFor("username", "first_name", "last_name", "email", "custom_fields", "active", "distribution_list",
				"addresses[1].value", "addresses[1].name", "addresses[2].value", "addresses[3]")
			w.post(w.subscribePath(webPath, "Customer"), object{"assignment": "x", "active": 1}).isBadRequestFor("assignment", "active")
		})
	}))
}
