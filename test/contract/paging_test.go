package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/users"
)

// listings returns the paths of all lists, each with at least three entries.
func (w *world) listings() []string {
	w.Helper()
	more := organization("acme")
	more.Groups = append(more.Groups, "Third")
	more.Projects = append(more.Projects, app.BlueprintProject{Slug: "third", Name: "Third"})
	project := &more.Projects[0]
	project.Channels = append(project.Channels, mail("second", false), mail("third", false))
	project.Applications = append(project.Applications, app.BlueprintApplication{Slug: "third", Name: "Third", Active: true})
	web := &project.Applications[0]
	web.Events = append(web.Events, app.BlueprintEvent{Slug: "third", Name: "Third", Active: true})
	w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{more}})

	emails := []string{"anna@example.org", "ben@example.org", "carl@example.org"}
	for _, email := range emails {
		w.enroll(email)
		w.post(addressesPath("anna@example.org"), object{"value": "room of " + email}).is(http.StatusCreated)
	}
	for _, username := range emails {
		w.post(registerPath, object{"username": username}).is(http.StatusOK)
		w.issue(scope("acme"), access.UserRead)
		w.put("/api/o/acme/r/"+username+"/", object{"role": "viewer"}).is(http.StatusOK)
	}
	customers := w.list(listsPath, "customers")
	w.add(customers, emails...)
	w.add(w.list(listsPath, "web-users"), emails...)
	var occurrence int64
	for _, cid := range []string{"one", "two", "two"} {
		occurrence = read[triggered](w.post(webPath+"e/shipped/trigger/?cid="+cid, object{}).is(http.StatusCreated)).Occurrence
	}
	w.expandAll()

	var all []string
	w.doc.operations(func(method, path string, o *openapi3.Operation) {
		if o.Parameters.GetByInAndName("query", "limit") != nil {
			require.Equal(w, http.MethodGet, method)
			all = append(all, w.expand(path, "{pk}", fmt.Sprint(customers.ID), "{id}", fmt.Sprint(occurrence)))
		}
	})
	require.GreaterOrEqual(w, len(all), 10)
	return all
}

func TestLists(t *testing.T) {
	t.Parallel()

	t.Run("AreArraysOrderedByID", both(func(w *world) {
		for _, path := range w.listings() {
			entries := read[[]struct {
				ID int64 `json:"id"`
			}](w.get(path).is(http.StatusOK))
			require.GreaterOrEqual(w, len(entries), 3, path)
			if strings.HasSuffix(path, "/audit/") { // The newest are looked for.
				slices.Reverse(entries)
			}
			for i := 1; i < len(entries) && entries[i].ID != 0; i++ { // Projects are shown without their ids.
				assert.Greater(w, entries[i].ID, entries[i-1].ID, path)
			}
		}
	}))

	t.Run("ArePagedWithLinksThatLeadToTheEnd", both(func(w *world) {
		for _, path := range w.listings() {
			whole := w.get(path).is(http.StatusOK)
			require.Empty(w, whole.header.Get("Link"), "without limit there is one page")
			want := read[[]json.RawMessage](whole)
			for _, limit := range []int{1, 2, len(want) - 1, len(want), len(want) + 1, 1000} {
				var got []json.RawMessage
				pages := 0
				for next := fmt.Sprintf("%s?limit=%d", path, limit); next != ""; pages++ {
					a := w.get(next).is(http.StatusOK)
					page := read[[]json.RawMessage](a)
					require.LessOrEqual(w, len(page), limit, a)
					require.NotEmpty(w, page, "an empty page has no use: %s", a)
					got = append(got, page...)
					next = nextPage(w, a)
				}
				require.Equal(w, want, got, "%s by %d", path, limit)
				require.Equal(w, (len(want)+limit-1)/limit, pages, "%s by %d", path, limit)
			}
		}
	}))

	t.Run("BeginAfterAnIDWithOrWithoutLimit", both(func(w *world) {
		for _, path := range w.listings() {
			whole := read[[]json.RawMessage](w.get(path))
			require.Equal(w, whole, read[[]json.RawMessage](w.get(path+"?after=0").is(http.StatusOK)))
			next := nextPage(w, w.get(path+"?limit=1"))
			after := regexp.MustCompile(`after=\d+`).FindString(next)
			require.Equal(w, whole[1:], read[[]json.RawMessage](w.get(path+"?"+after).is(http.StatusOK)))
			require.Equal(w, whole[1:2], read[[]json.RawMessage](w.get(path+"?limit=1&"+after).is(http.StatusOK)))
			end := w.get(path + "?limit=1&after=9223372036854775807").is(http.StatusOK)
			end.json(`[]`)
			require.Empty(w, end.header.Get("Link"))
		}
	}))

	t.Run("RefuseAWrongLimitOrAfterByName", both(func(w *world) {
		for _, path := range w.listings() {
			for _, limit := range []string{"0", "-1", "1001", "abc", "", "1.5", "99999999999999999999", "%31%30x"} {
				w.get(path + "?limit=" + limit).isBadRequestFor("limit")
			}
			for _, after := range []string{"-1", "abc", "", "1.5", "99999999999999999999"} {
				w.get(path + "?after=" + after).isBadRequestFor("after")
			}
			w.get(path+"?limit=x&after=y").isBadRequestFor("limit", "after")
			w.get(path+"?page=2&limit=1&Limit=1").isBadRequestFor("page", "Limit")
		}
	}))

	t.Run("EmptyResultsAreEmptyArrays", both(func(w *world) {
		for _, path := range []string{
			"/api/v1/user/bare/", "/api/o/bare/u/", "/api/o/bare/c/", "/api/o/bare/p/shop/c/", "/api/o/bare/p/shop/a/web/e/",
			"/api/o/bare/p/shop/a/web/n/", w.list("/api/o/bare/p/shop/d/", "customers").Members,
		} {
			w.get(path).is(http.StatusOK).json(`[]`)
			w.get(path + "?limit=10").is(http.StatusOK).json(`[]`)
		}
	}))

	t.Run("AreWholeHoweverLong", both(func(w *world) {
		// This is more than one batch, which is 250 users or 2,000 recipients.
		const many = 2_100
		var b users.Batch
		emails := make([]string, many)
		for i := range many {
			emails[i] = fmt.Sprintf("user%04d@example.org", i)
			b.Enrollments = append(b.Enrollments, users.Enrollment{Details: users.Details{Email: emails[i]}})
		}
		w.enrollAll(b)
		customers := w.list(listsPath, "customers")
		require.Len(w, w.add(customers, emails...), many)

		named := map[string]bool{}
		for _, u := range read[[]user](w.get(usersPath).is(http.StatusOK)) {
			named[u.Username] = true
		}
		require.Len(w, named, many)
		recipients := w.recipients(customers)
		require.Len(w, recipients, many)
		var paged []recipient
		for next := customers.Members + "?limit=1000"; next != ""; {
			a := w.get(next).is(http.StatusOK)
			paged = append(paged, read[[]recipient](a)...)
			next = nextPage(w, a)
		}
		require.Equal(w, recipients, paged)
	}))
}

// nextPage returns the URL of the next page; empty on the last one.
func nextPage(w *world, a answer) string {
	w.Helper()
	link := a.header.Get("Link")
	if link == "" {
		return ""
	}
	target, found := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	require.True(w, found, link)
	require.True(w, strings.HasPrefix(target, "http://"), "a link is absolute: %s", link)
	return target
}
