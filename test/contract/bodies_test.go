package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
)

// bodied are the operations that take a body, as method and path.
func (w *world) bodied() [][2]string {
	w.Helper()
	w.enroll("anna@example.org")
	subscribe := w.subscribePath(webPath, "Customer")
	var all [][2]string
	w.doc.operations(func(method, path string, o *openapi3.Operation) {
		if o.RequestBody == nil {
			return
		}
		if strings.Contains(path, "{notification_pk}") {
			all = append(all, [2]string{method, subscribe})
			return
		}
		all = append(all, [2]string{method, w.expand(path, "{pk}", fmt.Sprint(w.list(listsPath, "customers").ID))})
	})
	require.GreaterOrEqual(w, len(all), 11)
	return all
}

// everywhere sends a body to every operation that takes one, and demands that nothing is kept of it.
func (w *world) everywhere(judge func(send func(c client, body any) answer)) {
	w.Helper()
	operations := w.bodied()
	w.unchanged(func() {
		for _, o := range operations {
			judge(func(c client, body any) answer {
				w.Helper()
				return c.do(o[0], o[1], body)
			})
		}
	})
}

func TestBody(t *testing.T) {
	t.Parallel()
	both := onBoth(t)
	small := func(o *httpapi.Options) { o.BodyLimit = 100 }
	padded := func(length int) raw { return raw(strings.Repeat(" ", length)) }

	t.Run("OverTheLimitIs413", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			send(w.client, padded(101)).is(http.StatusRequestEntityTooLarge)
			send(w.client, padded(500_000)).is(http.StatusRequestEntityTooLarge)
			send(w.with("Content-Type", "text/plain"), padded(101)).is(http.StatusRequestEntityTooLarge)
		})
	}, small))

	t.Run("OverTheLimitIs413WhenItsLengthIsNotAnnounced", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			send(w.client, chunked(padded(101))).is(http.StatusRequestEntityTooLarge)
			send(w.client, chunked(padded(100))).blames("body")
		})
	}, small))

	t.Run("AtTheLimitIsRead", both(func(w *world) {
		body := `{"email": "anna@example.org"}`
		w.post(usersPath, raw(body)+padded(100-len(body))).is(http.StatusCreated)
		w.post(usersPath, raw(body)+padded(101-len(body))).is(http.StatusRequestEntityTooLarge)
	}, small))

	t.Run("LimitIs1MiBUnlessConfigured", both(func(w *world) {
		body := `{"email": "anna@example.org"}`
		w.post(usersPath, raw(body)+padded(1<<20-len(body))).is(http.StatusCreated)
		w.post(usersPath, raw(body)+padded(1<<20-len(body)+1)).is(http.StatusRequestEntityTooLarge)
	}))

	t.Run("OfAnotherContentTypeIs415", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			for _, contentType := range []string{
				"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "text/json",
				"application/merge-patch+json", "application/json; charset=iso-8859-1", "json", "application/json, text/plain", "application/",
			} {
				send(w.with("Content-Type", contentType), raw(`{}`)).is(http.StatusUnsupportedMediaType)
			}
			send(w.with("Content-Type", ""), raw(`{}`)).is(http.StatusUnsupportedMediaType)
			send(w.with("Content-Encoding", "gzip"), raw(`{}`)).is(http.StatusUnsupportedMediaType)
		})
	}))

	t.Run("MayNameItsCharsetAndParametersInAnyCase", both(func(w *world) {
		for i, contentType := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""} {
			w.with("Content-Type", contentType).post(usersPath, object{"email": fmt.Sprintf("user%d@example.org", i)}).is(http.StatusCreated)
		}
	}))

	wrong := map[string]raw{
		"Empty":            "",
		"WhiteSpace":       " \r\n\t ",
		"NotJSON":          "hello",
		"HalfJSON":         `{"email": "anna@example.org"`,
		"TrailingGarbage":  `{"email": "anna@example.org"} x`,
		"TwoValues":        `{} {}`,
		"TrailingComma":    `{"email": "anna@example.org",}`,
		"Comment":          `{} // nothing`,
		"SingleQuotes":     `{'email': 'anna@example.org'}`,
		"ByteOrderMark":    "\ufeff{}",
		"UTF16":            "\xfe\xff\x00{\x00}",
		"Null":             `null`,
		"Number":           `1`,
		"String":           `"anna@example.org"`,
		"Boolean":          `true`,
		"InvalidNumber":    `{"email": 01}`,
		"RawControlInText": "{\"email\": \"a\nb\"}",
		"NUL":              "\x00",
	}
	t.Run("Is400WhenItIs", both(func(w *world) {
		operations := w.bodied()
		each(wrong, func(w *world, body raw) {
			w.unchanged(func() {
				for _, o := range operations {
					if body == "" && o[0] == http.MethodDelete {
						continue // That body is optional: the query string counts then.
					}
					w.do(o[0], o[1], body).blames("body")
				}
			})
		})(w)
	}))

	t.Run("OfTheWrongShapeIs400", both(func(w *world) {
		w.everywhere(func(send func(client, any) answer) {
			send(w.client, list{}).blames("body")
		})
		w.post(idPath(listsPath, w.list(listsPath, "customers").ID)+"add/", object{}).blames("body")
	}))
}

// TestMember is about what may stand in the members of a body, whatever they mean.
func TestMember(t *testing.T) {
	t.Parallel()
	both := onBoth(t)
	nested := func(depth int) raw {
		return raw(`{"email": "anna@example.org", "custom_fields": ` + strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat(`}`, depth) + `}`)
	}
	patched := func(t *testing.T, w *world, body raw) answer {
		t.Helper()
		w.enroll("anna@example.org")
		return w.patch(userPath("anna@example.org"), body)
	}

	t.Run("ThatIsUnknownIsIgnored", both(func(w *world) {
		w.post(usersPath, object{"email": "anna@example.org", "is_admin": true, "x": list{nil}, "": 1}).is(http.StatusCreated)
		w.post(listsPath, object{"name": "new", "id": 1, "members": "x"}).is(http.StatusCreated)
		w.post(webPath+"register/", object{"username": "ben", "locked": true, "enable_notifications": false, "role": "administrator"}).is(http.StatusCreated)
	}))

	t.Run("NestedDeeperThan32LevelsIs400", both(func(w *world) {
		// The body is the first level and custom_fields the second.
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
		w.post(usersPath, raw(`{"email": "an\u0000na@example.org"}`)).blames("email")
		w.post(usersPath, raw(`{"email": "anna@example.org", "first_name": "\u0000"}`)).blames("first_name")
		patched(t, w, raw(`{"custom_fields": {"a": {"b": ["ok", "\u0000"]}}}`)).blames("custom_fields.a.b[1]")
		w.post(listsPath, raw(`{"name": "a\u0000"}`)).blames("name")
	}))

	t.Run("WithInvalidUTF8Is400ThatNamesIt", both(func(w *world) {
		w.post(usersPath, raw("{\"email\": \"\xff@example.org\"}")).blames("email")
		w.post(usersPath, raw("{\"email\": \"anna@example.org\", \"last_name\": \"\xc3\x28\"}")).blames("last_name")
		w.post(usersPath, raw("{\"email\": \"anna@example.org\", \"custom_fields\": {\"k\": \"\xed\xa0\x80\"}}")).blames("custom_fields.k")
		w.post(usersPath, raw(`{"email": "anna@example.org", "first_name": "\ud800"}`)).blames("first_name")
		w.post(idPath(listsPath, w.list(listsPath, "customers").ID)+"add/", raw("[\"\xff\"]")).blames("[0]")
	}))

	t.Run("NamedTwiceIs400ThatNamesIt", both(func(w *world) {
		w.post(usersPath, raw(`{"email": "anna@example.org", "email": "ben@example.org"}`)).blames("email")
		w.post(usersPath, raw(`{"email": "anna@example.org", "\u0065mail": "ben@example.org"}`)).blames("email")
		w.post(usersPath, raw(`{"email": "anna@example.org", "custom_fields": {"a": {"k": 1, "k": 1}}}`)).blames("custom_fields.a.k")
	}))

	t.Run("WithANumberThatDoesNotFitIs400ThatNamesIt", both(func(w *world) {
		subscribe := w.subscribePath(webPath, "Customer")
		for _, number := range []string{"9223372036854775808", "-9223372036854775809", "1e30", "1.5", "1.0", "1e0", "99999999999999999999"} {
			w.post(listsPath, raw(`{"name": "new", "application": `+number+`}`)).blames("application")
			w.post(subscribe, raw(`{"assignment": `+number+`}`)).blames("assignment")
			w.delete(subscribe, raw(`{"assignment": `+number+`}`)).blames("assignment")
		}
	}))

	t.Run("OfMetadataKeepsItsNumbersAsTheyWereSent", both(func(w *world) {
		fields := `{"a":1.0,"b":1e2,"c":-0,"d":12345678901234567890123,"e":0.10,"f":[1E-7,1.50],"g":9007199254740993,"h":1e400}`
		a := patched(t, w, raw(`{"custom_fields": `+fields+`}`)).is(http.StatusOK)
		require.Equal(w, fields, string(read[user](a).CustomFields))
		require.Equal(w, fields, string(read[user](w.get(userPath("anna@example.org"))).CustomFields))
		done := w.post(webPath+"register/", raw(`{"username": "anna@example.org", "custom_fields": `+fields+`}`)).is(http.StatusOK)
		require.Equal(w, fields, string(read[registered](done).Membership.CustomFields))
	}))

	t.Run("OfMetadataKeepsAnyText", both(func(w *world) {
		fields := `{"<b>&":"\"\\/\b\f\n\r\t\u2028 ä 漢 😀 \u0001","":"","__proto__":{},"nothing":null,"list":[{},[],""]}`
		a := patched(t, w, raw(`{"custom_fields": `+fields+`}`)).is(http.StatusOK)
		require.JSONEq(w, fields, string(read[user](a).CustomFields))
		require.JSONEq(w, fields, string(read[user](w.get(userPath("anna@example.org"))).CustomFields))
	}))

	t.Run("ThatIsNullOrEmptyIsAbsent", both(func(w *world) {
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

	t.Run("ThatIsRequiredIsMissingWhenNullEmptyOrBlank", both(func(w *world) {
		w.enroll("anna@example.org")
		subscribe := w.subscribePath(webPath, "Customer")
		w.unchanged(func() {
			for _, missing := range []any{nil, "", " \t\n"} {
				w.post(usersPath, object{"email": missing}).blames("email")
				w.post(listsPath, object{"name": missing}).blames("name")
				w.post(addressesPath("anna@example.org"), object{"value": missing}).blames("value")
				w.post(webPath+"register/", object{"username": missing}).blames("username")
				w.post(webPath+"register/", object{"username": "ben", "addresses": list{object{"value": missing}}}).blames("addresses[0].value")
			}
			w.post(usersPath, object{}).blames("email")
			w.post(listsPath, object{}).blames("name")
			w.post(addressesPath("anna@example.org"), object{}).blames("value")
			w.post(webPath+"register/", object{}).blames("username")
			for _, missing := range []object{{}, {"assignment": nil}} {
				w.post(subscribe, missing).blames("assignment")
				w.delete(subscribe, missing).blames("assignment")
			}
		})
	}))

	t.Run("OfTheWrongTypeIs400ThatNamesIt", both(func(w *world) {
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
						w.do(c.method, c.path, body).blames(member)
					}
				}
			}
			register := webPath + "register/"
			w.post(register, object{"username": "ben", "addresses": list{"a@example.org"}}).blames("addresses[0]")
			w.post(register, object{"username": "ben", "addresses": list{preferred("x"), object{"value": 1, "name": 2, "assign_to_preferred_channel": 3}}}).
				blames("addresses[1].value", "addresses[1].name", "addresses[1].assign_to_preferred_channel")
			w.post(idPath(listsPath, w.list(listsPath, "customers").ID)+"add/", list{"anna@example.org", 1, nil, object{}, list{}, true}).
				blames("[1]", "[2]", "[3]", "[4]", "[5]")
		})
	}))

	t.Run("MistakesAreNamedAllAtOnce", both(func(w *world) {
		w.enroll("anna@example.org")
		long := strings.Repeat("x", 201)
		w.unchanged(func() {
			w.post(usersPath, object{"email": "nothing", "first_name": long, "last_name": 1, "custom_fields": "x"}).
				blames("email", "first_name", "last_name", "custom_fields")
			w.patch(userPath("anna@example.org"), object{"_mode": "wild", "first_name": long, "last_name": true, "custom_fields": list{}}).
				blames("_mode", "first_name", "last_name", "custom_fields")
			w.post(addressesPath("anna@example.org"), object{"name": long, "assign_to_preferred_channel": 1}).
				blames("value", "name", "assign_to_preferred_channel")
			w.post(listsPath, object{"name": long, "application": "x"}).blames("name", "application")
			w.post(webPath+"register/", object{
				"first_name": long, "last_name": 1, "email": "nothing", "custom_fields": 1, "active": "no", "distribution_list": 1,
				"addresses": list{object{"value": "ok"}, object{"name": long}, object{"value": 1}, 1},
			}).blames("username", "first_name", "last_name", "email", "custom_fields", "active", "distribution_list",
				"addresses[1].value", "addresses[1].name", "addresses[2].value", "addresses[3]")
			w.post(w.subscribePath(webPath, "Customer"), object{"assignment": "x", "active": 1}).blames("assignment", "active")
		})
	}))
}

func TestLimits(t *testing.T) {
	t.Parallel()
	both := onBoth(t)

	// Limits count characters, whatever bytes they take.
	for _, letter := range []string{"x", "ä", "😀"} {
		t.Run("OfNamesAre200CharactersOf"+fmt.Sprint(len(letter))+"Bytes", both(func(w *world) {
			fits, over := strings.Repeat(letter, 200), strings.Repeat(letter, 201)
			w.post(usersPath, object{"email": "anna@example.org", "first_name": over, "last_name": over}).blames("first_name", "last_name")
			u := read[user](w.post(usersPath, object{"email": "anna@example.org", "first_name": fits, "last_name": fits}).is(http.StatusCreated))
			require.Equal(w, fits, u.FirstName)
			w.patch(userPath("anna@example.org"), object{"first_name": over}).blames("first_name")
			w.post(listsPath, object{"name": over}).blames("name")
			require.Equal(w, fits, read[distributionList](w.post(listsPath, object{"name": fits}).is(http.StatusCreated)).Name)
			w.post(addressesPath("anna@example.org"), object{"value": "x", "name": over}).blames("name")
			w.post(addressesPath("anna@example.org"), object{"value": "x", "name": fits}).is(http.StatusCreated)
		}))
	}

	t.Run("OfUsernamesAndEmailsAre254Characters", both(func(w *world) {
		at := "@" + strings.Repeat("d", 60) + ".example.org"
		fits, over := strings.Repeat("x", 254-len(at))+at, strings.Repeat("x", 255-len(at))+at
		w.post(usersPath, object{"email": over}).blames("email")
		w.post(usersPath, object{"email": fits}).is(http.StatusCreated)
		w.get(userPath(fits)).is(http.StatusOK)
		fits, over = strings.Repeat("ü", 254), strings.Repeat("ü", 255)
		w.post(webPath+"register/", object{"username": over}).blames("username")
		w.post(webPath+"register/", object{"username": fits}).is(http.StatusCreated)
		require.Equal(w, fits, read[user](w.get(userPath(fits)).is(http.StatusOK)).Username)
		w.post(webPath+"register/", object{"username": "ben", "email": "x" + strings.Repeat("x", 254) + "@example.org"}).blames("email")
	}))

	t.Run("OfAddressValuesAre2048Characters", both(func(w *world) {
		w.enroll("anna@example.org")
		for i, start := range []string{"https://example.org/", "", "漢"} {
			letter := []string{"x", "y", "字"}[i]
			n := 2048 - len([]rune(start))
			w.post(addressesPath("anna@example.org"), object{"value": start + strings.Repeat(letter, n+1)}).blames("value")
			value := start + strings.Repeat(letter, n)
			w.post(addressesPath("anna@example.org"), object{"value": value}).is(http.StatusCreated)
			require.Equal(w, value, read[address](w.post(addressesPath("anna@example.org"), object{"value": value}).is(http.StatusOK)).Value)
		}
	}))

	t.Run("OfMetadataAre64KiBSentOrMerged", both(func(w *world) {
		sized := func(key string, size int) object { return object{key: strings.Repeat("x", size-len(key)-7)} } // {"k":"…"}
		w.post(usersPath, object{"email": "anna@example.org", "custom_fields": sized("k", 64<<10+1)}).blames("custom_fields")
		w.post(usersPath, object{"email": "anna@example.org", "custom_fields": sized("k", 64<<10)}).is(http.StatusCreated)
		w.unchanged(func() {
			w.patch(userPath("anna@example.org"), object{"custom_fields": object{"l": 1}}).blames("custom_fields")
			w.patch(userPath("anna@example.org"), object{"custom_fields": object{"l": 1}, "first_name": "Anna"}).blames("custom_fields")
			w.patch(userPath("anna@example.org"), object{"custom_fields": sized("k", 64<<10+1), "_mode": "remove"}).blames("custom_fields")
		})
		w.patch(userPath("anna@example.org"), object{"custom_fields": object{"l": 1}, "_mode": "rewrite"}).is(http.StatusOK)

		register := webPath + "register/"
		w.post(register, object{"username": "ben", "custom_fields": sized("k", 64<<10+1)}).blames("custom_fields")
		w.post(register, object{"username": "ben", "custom_fields": sized("k", 64<<10)}).is(http.StatusCreated)
		w.unchanged(func() {
			w.post(register, object{"username": "ben", "custom_fields": object{"l": 1}}).blames("custom_fields")
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
			w.post(usersPath, object{"email": "anna@example.org", "first_name": "a" + control + "b"}).blames("first_name")
			w.post(listsPath, object{"name": "a" + control + "b"}).blames("name")
			w.post(webPath+"register/", object{"username": "a" + control + "b"}).blames("username")
		}
		assert.Empty(w, read[[]user](w.get(usersPath)))
	}))
}
