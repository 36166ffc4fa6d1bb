package contract_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatAnOrganizationRecords is about organizations that share users: neither sees nor changes
// the data of the other.
func TestWhatAnOrganizationRecords(t *testing.T) {
	t.Parallel()
	const there = "/api/o/globex/p/shop/a/web/"
	// record stores everything that globex can store about three users.
	record := func(w *world) {
		w.Helper()
		for _, username := range []string{"Anna", "anna@example.org", "ben"} {
			w.post(there+"register/", object{
				"username": username, "email": "secret@example.org", "first_name": "Secret", "last_name": "Secret", "custom_fields": object{"secret": "secret"},
				"addresses": list{object{"value": "secret@example.org"}},
			}).is(http.StatusCreated)
		}
	}
	picture := func(w *world) string {
		w.Helper()
		s := string(w.get("/api/v1/user/globex/").is(http.StatusOK).body)
		for _, u := range read[[]user](w.get("/api/v1/user/globex/")) {
			s += string(w.get("/api/v1/user/globex/" + url.PathEscape(u.Username) + "/address/").is(http.StatusOK).body)
		}
		return s
	}

	t.Run("NoAnswerShowsToAnotherOne", both(func(w *world) {
		record(w)
		for _, a := range []answer{
			w.post(webPath+"register/", object{"username": "anna"}).is(http.StatusOK),
			w.post(usersPath, object{"email": "ANNA@example.org"}).is(http.StatusOK),
			w.get(usersPath).is(http.StatusOK),
			w.get(userPath("anna")).is(http.StatusOK), w.get(userPath("ben")).is(http.StatusNotFound), w.get(userPath("secret@example.org")).is(http.StatusNotFound),
			w.get(addressesPath("anna")).is(http.StatusOK),
			w.patch(userPath("anna"), object{"first_name": "Anna", "custom_fields": object{"k": 1}}).is(http.StatusOK),
		} {
			require.NotContains(w, strings.ToLower(string(a.body)), "secret")
			require.NotContains(w, string(a.body), `"Anna@example.org"`)
		}
		require.Equal(w, "anna", read[user](w.get(userPath("anna"))).Username, "spelled as it was sent here")
		require.Equal(w, "ANNA@example.org", read[user](w.get(userPath("anna@example.org"))).Username)
	}))

	t.Run("AnswersAreTheSameWhetherTheOtherKnowsTheUserOrNot", both(func(w *world) {
		payload := object{"username": "anna", "email": "anna@example.org", "first_name": "Anna", "last_name": "Lee", "addresses": list{preferred("anna@example.org")}}
		alone := read[registered](w.post(webPath+"register/", payload).is(http.StatusCreated))
		w.delete(userPath("anna"), nil).is(http.StatusOK)
		record(w)
		shared := read[registered](w.post(webPath+"register/", payload).is(http.StatusOK))
		require.False(w, shared.Created, "the status and created tell, as the contract wants")
		shared.Created, shared.Assignments[0].ID = true, alone.Assignments[0].ID
		require.Equal(w, alone, shared)
	}))

	t.Run("NoOtherOrganizationChangesIt", both(func(w *world) {
		record(w)
		before := picture(w)
		w.joins(webPath, "anna", object{"email": "anna@example.org", "first_name": "Anna"})
		u := read[user](w.patch(userPath("anna"), object{"email": "a@example.org", "first_name": "A", "last_name": "B", "custom_fields": object{"k": 1}}).is(http.StatusOK))
		require.Equal(w, []string{"a@example.org", "A", "B"}, []string{u.Email, u.FirstName, u.LastName})
		w.lock("anna")
		require.Equal(w, before, picture(w))
		w.delete(userPath("anna"), nil).is(http.StatusOK)
		require.Equal(w, before, picture(w))
	}))

	t.Run("IsDeletedWithTheMembership", both(func(w *world) {
		record(w)
		w.joins(webPath, "anna", object{"email": "anna@example.org", "first_name": "Anna", "last_name": "Lee"})
		w.delete(userPath("anna"), nil).is(http.StatusOK)
		w.joins(webPath, "anna", object{})
		u := read[user](w.get(userPath("anna")).is(http.StatusOK))
		require.Empty(w, u.Email+u.FirstName+u.LastName)
	}))
}

// joins registers a user who may be a member of another organization already.
func (w *world) joins(app, username string, more object) {
	w.Helper()
	payload := object{"username": username}
	maps.Copy(payload, more)
	require.Contains(w, []int{http.StatusOK, http.StatusCreated}, w.post(app+"register/", payload).status)
}
