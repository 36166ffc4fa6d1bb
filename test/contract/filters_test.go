package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// users returns the usernames in a list of users for a query. It reads the list as a whole and page
// by page.
func (w *world) users(query string) []string {
	w.Helper()
	whole := read[[]user](w.get(usersPath + "?" + query).is(http.StatusOK))
	var paged []user
	for next := usersPath + "?limit=2&" + query; next != ""; {
		a := w.get(next).is(http.StatusOK)
		paged = append(paged, read[[]user](a)...)
		next = nextPage(w, a)
	}
	require.Equal(w, whole, append([]user{}, paged...), query)
	names := []string{}
	for _, u := range whole {
		names = append(names, u.Username)
	}
	return names
}

func TestFilters(t *testing.T) {
	t.Parallel()

	t.Run("FindUsers", both(func(w *world) {
		early := w.clock.Now()
		for _, name := range []string{"anna", "ben", "carl"} {
			w.enroll(name + "@example.org")
		}
		w.patch(userPath("carl@example.org"), object{"email": "Anna@Example.org"}).is(http.StatusOK)
		w.patch(userPath("ben@example.org"), object{"custom_fields": object{"external_id": 4711, "note": "x-17"}}).is(http.StatusOK)
		w.patch(userPath("carl@example.org"), object{"custom_fields": object{"external_id": "x-17", "n": 4711}}).is(http.StatusOK)
		w.clock.Advance(time.Hour)
		late := w.clock.Now()
		w.enroll("dora@example.org")
		w.lock("ben@example.org")
		w.post("/api/v1/user/globex/", object{"email": "eve@example.org"}).is(http.StatusCreated)
		at := func(t time.Time) string { return url.QueryEscape(t.Format(time.RFC3339)) }
		const anna, ben, carl, dora = "anna@example.org", "ben@example.org", "carl@example.org", "dora@example.org"
		for query, want := range map[string][]string{
			"":                          {anna, ben, carl, dora},
			"username=ANNA@example.org": {anna}, "username=carl@example.org": {carl}, "username=eve@example.org": {},
			"email=anna@example.org": {anna, carl}, "email=carl@example.org": {}, "email=ben@EXAMPLE.org": {ben},
			"external_id=4711": {ben}, "external_id=x-17": {carl}, "external_id=17": {},
			"is_active=true": {anna, carl, dora}, "is_active=false": {ben}, "group=default": {anna, ben, carl, dora},
			"created_after=" + at(late): {dora}, "created_before=" + at(late): {anna, ben, carl}, "created_before=" + at(early): {},
			"created_after=" + at(early) + "&is_active=true&email=anna@example.org": {anna, carl},
			"username=anna@example.org&is_active=false":                             {}, "group=Default&is_active=false": {ben},
		} {
			assert.Equal(w, want, w.users(query), query)
			a := w.do(http.MethodHead, usersPath+"?total=true&"+query, nil).is(http.StatusOK)
			assert.Equal(w, fmt.Sprint(len(want)), a.header.Get("X-Total-Count"), query)
		}
	}))

	t.Run("SearchForUsers", both(func(w *world) {
		for _, name := range []string{"zoe", "jorg", "joanna", "ann"} {
			w.enroll(name + "@example.org")
		}
		w.patch(userPath("jorg@example.org"), object{"first_name": "J\u00f6rg", "last_name": "M\u00fcller-Anders"}).is(http.StatusOK)
		w.patch(userPath("zoe@example.org"), object{"first_name": "Zoe", "last_name": "Muller"}).is(http.StatusOK)
		w.lock("zoe@example.org")
		w.post("/api/v1/user/globex/", object{"email": "ann@globex.test"}).is(http.StatusCreated)
		for query, want := range map[string][]string{
			"q=ann": {"ann@example.org"}, "q=mueller": {"jorg@example.org", "zoe@example.org"}, "q=and": {"jorg@example.org"},
			"q=MULLER+jo": {"jorg@example.org"}, "q=muller&is_active=false": {"zoe@example.org"}, "q=globex": {}, "q=%21": {},
			"q=example&limit=1": {"joanna@example.org"},
		} {
			a := w.get(usersPath + "?" + query).is(http.StatusOK)
			got := []string{}
			for _, u := range read[[]user](a) {
				got = append(got, u.Username)
			}
			assert.ElementsMatch(w, want, got, query)
			assert.Empty(w, a.header.Get("Link"), query)
		}
		w.get(usersPath + "?q=ann&after=1").isBadRequestFor("after")
		w.get(usersPath + "?q=" + strings.Repeat("x", 201)).isBadRequestFor("q")
		w.get(usersPath + "?q=a%07").isBadRequestFor("q")
		w.get(usersPath + "?q=").isBadRequestFor("q")
	}))

	t.Run("RefuseContradictions", both(func(w *world) {
		for query, param := range map[string]string{
			"email=": "email", "email=%20": "email", "email=a&email=b": "email", "username=%00": "username", "username=%ff": "username",
			"external_id=" + strings.Repeat("x", 2049): "external_id", "group=Nobody": "group", "is_active=1": "is_active", "is_active=TRUE": "is_active",
			"created_after=yesterday": "created_after", "created_before=2026-01-01": "created_before",
			"created_after=2026-01-01T2:00:00Z": "created_after", "created_before=2026-01-01T02:00:00%2B24:00": "created_before", "locked=true": "locked",
			"total=1": "total", "total=": "total", "filter_digest=AAAAAAAA": "filter_digest", "filter_digest=": "filter_digest",
		} {
			w.get(usersPath + "?" + query).isBadRequestFor(param)
			w.get(usersPath + "?limit=1&" + query).isBadRequestFor(param)
		}
	}))

	t.Run("BelongToEveryPage", both(func(w *world) {
		for i := range 4 {
			w.enroll(fmt.Sprintf("user%d@example.org", i))
		}
		next := nextPage(w, w.get(usersPath+"?is_active=true&limit=2&total=true").is(http.StatusOK))
		require.NotContains(w, next, "total")
		require.Len(w, read[[]user](w.get(next).is(http.StatusOK)), 2)
		w.get(strings.Replace(next, "is_active=true", "is_active=false", 1)).isBadRequestFor("filter_digest")
		w.get(strings.Replace(next, "is_active=true&", "", 1)).isBadRequestFor("filter_digest")
		w.get(next + "&group=Default").isBadRequestFor("filter_digest")
		require.NotContains(w, nextPage(w, w.get(usersPath+"?limit=2")), "filter_digest")
	}))

	t.Run("ListFiltersApply", both(func(w *world) {
		type entry map[string]json.RawMessage
		for _, path := range w.listings() {
			whole := read[[]entry](w.get(path).is(http.StatusOK))
			asked, latest := 0, whole[len(whole)-1]
			if strings.HasSuffix(path, "/audit/") { // The newest come first.
				latest = whole[0]
			}
			for name, sample := range latest {
				if name == "after" { // A parameter of every list, and of an audit entry what has become of something.
					continue
				}
				value := strings.Trim(string(sample), `"`)
				query := path + "?total=true&" + name + "=" + url.QueryEscape(value)
				a := w.get(query)
				if a.status == http.StatusBadRequest || value == "null" {
					require.True(w, value == "null" || value == "" || read[problem](a).Code == "unknown_parameter", a)
					continue
				}
				asked++
				want := []entry{}
				for _, e := range whole {
					if string(e[name]) == string(sample) {
						want = append(want, e)
					}
				}
				assert.Equal(w, want, read[[]entry](a.is(http.StatusOK)), query)
				assert.Equal(w, fmt.Sprint(len(want)), a.header.Get("X-Total-Count"), query)
				assert.Equal(w, len(want) > 1, nextPage(w, w.get(query+"&limit=1").is(http.StatusOK)) != "", query)
				w.get(path + "?" + name + "=").isBadRequestFor(name)
			}
			assert.NotZero(w, asked, path)
		}
	}))

	t.Run("UnpagedListsTakeNoParameters", both(func(w *world) {
		for _, path := range []string{webPath + "e/shipped/t/"} {
			w.get(path).is(http.StatusOK)
			w.get(path + "?channel=1").isBadRequestFor("channel")
		}
	}))
}
