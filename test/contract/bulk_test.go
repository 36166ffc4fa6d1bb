package contract_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bulkAnswer is the answer of a call for many users.
type bulkAnswer struct {
	Results []struct {
		Status  int      `json:"status"`
		User    *user    `json:"user"`
		Problem *problem `json:"problem"`
	} `json:"results"`
}

func TestBulk(t *testing.T) {
	t.Parallel()
	const bulkPath = usersPath + "bulk/"

	t.Run("AnswersForEachInOrder", both(func(w *world) {
		w.enroll("ben@example.org")
		a := w.post(bulkPath, object{"users": list{
			object{"email": "anna@example.org", "first_name": "Anna", "custom_fields": object{"external_id": 1}},
			object{"email": "nobody"},
			object{"email": "BEN@example.org", "first_name": "Other"},
			object{"email": "cem example@example.org"},
			object{"email": "Anna@example.org", "first_name": "Again"},
			object{"email": "dora@example.org"},
		}}).is(http.StatusOK)
		got := read[bulkAnswer](a).Results
		require.Len(w, got, 6)
		for i, status := range []int{201, 400, 200, 400, 200, 201} {
			assert.Equal(w, status, got[i].Status, i)
			assert.Equal(w, status < 400, got[i].User != nil, i)
			assert.Equal(w, status >= 400, got[i].Problem != nil, i)
		}
		assert.Equal(w, "Anna", got[0].User.FirstName)
		assert.True(w, got[0].User.Created)
		assert.Equal(w, "ben@example.org", got[2].User.Username)
		assert.Empty(w, got[2].User.FirstName)
		assert.Contains(w, got[3].Problem.Errors, "email")
		assert.Equal(w, a.header.Get("X-Request-ID"), got[3].Problem.RequestID)
		assert.Equal(w, got[0].User.ID, got[4].User.ID)
		assert.False(w, got[4].User.Created)
		assert.Equal(w, "Anna", got[4].User.FirstName)
		assert.Contains(w, got[1].Problem.Errors, "email")

		names := func() (all []string) {
			for _, u := range read[[]user](w.get(usersPath)) {
				all = append(all, u.Username)
			}
			return all
		}
		assert.ElementsMatch(w, []string{"ben@example.org", "anna@example.org", "dora@example.org"}, names()[len(names())-3:])
	}))

	t.Run("RepeatedChangesNothing", both(func(w *world) {
		body := object{"users": list{object{"email": "anna@example.org"}, object{"email": "ben@example.org"}}}
		w.post(bulkPath, body).is(http.StatusOK)
		w.unchanged(func() {
			for _, r := range read[bulkAnswer](w.post(bulkPath, body).is(http.StatusOK)).Results {
				assert.Equal(w, http.StatusOK, r.Status)
			}
		})
	}))

	t.Run("TooMuchMetadataIsRefusedAsAWhole", both(func(w *world) {
		large := object{"email": "anna@example.org", "custom_fields": object{"x": strings.Repeat("x", 60_000)}}
		w.post(usersPath, large).is(http.StatusCreated)
		people := list{object{"email": "new@example.org"}}
		for range 34 { // less than 2 MiB
			people = append(people, object{"email": "anna@example.org"})
		}
		w.post(bulkPath, object{"users": append(slices.Clone(people), object{"email": "other@example.org"})}).is(http.StatusOK)
		w.unchanged(func() {
			for len(people) < 1_000 {
				people = append(people, object{"email": fmt.Sprintf("new%d@example.org", len(people))})
			}
			people[999] = object{"email": "anna@example.org"}
			refused := read[problem](w.post(bulkPath, object{"users": people}).is(http.StatusBadRequest))
			assert.Equal(w, []string{"have more than 2 MiB of metadata together: send them in several calls"}, refused.Errors["users"])
		})
	}))

	t.Run("EqualsSingleCalls", both(func(w *world) {
		alone := read[user](w.post(usersPath, object{"email": "anna@example.org", "custom_fields": object{"n": 1}}).is(http.StatusCreated))
		together := *read[bulkAnswer](w.post("/api/o/acme/u/bulk/", object{"users": list{object{"email": "ben@example.org", "custom_fields": object{"n": 1}}}}).is(http.StatusOK)).Results[0].User
		together.ID, together.Username, together.Email = alone.ID, alone.Username, alone.Email
		assert.Equal(w, alone, together)
		addresses := read[[]address](w.get(addressesPath("ben@example.org")).is(http.StatusOK))
		require.Len(w, addresses, 1)
		assert.Equal(w, "ben@example.org", addresses[0].Value)
	}))

	t.Run("TakesAThousandAndNotOneMore", both(func(w *world) {
		all := list{}
		for i := range 1_000 {
			all = append(all, object{"email": fmt.Sprintf("user%d@example.org", i)})
		}
		got := read[bulkAnswer](w.post(bulkPath, object{"users": all}).is(http.StatusOK)).Results
		require.Len(w, got, 1_000)
		for i, r := range got {
			require.Equal(w, http.StatusCreated, r.Status)
			require.Equal(w, fmt.Sprintf("user%d@example.org", i), r.User.Username)
		}
		w.unchanged(func() {
			w.post(bulkPath, object{"users": append(all, object{"email": "one@example.org"})}).isBadRequestFor("users")
		})
	}))

	t.Run("RefusesOtherBodies", both(func(w *world) {
		w.unchanged(func() {
			w.post(bulkPath, object{}).isBadRequestFor("users")
			w.post(bulkPath, object{"users": list{}}).isBadRequestFor("users")
			w.post(bulkPath, object{"users": object{"email": "anna@example.org"}}).isBadRequestFor("users")
			w.post(bulkPath, list{object{"email": "anna@example.org"}}).isBadRequestFor("body")
			w.post("/api/v1/user/nowhere/bulk/", object{"users": list{object{"email": "anna@example.org"}}}).is(http.StatusNotFound)
		})
	}))
}
