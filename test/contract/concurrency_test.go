package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// together sends n requests at the same time and returns the responses. As for every request, a 500
// or a response that the document does not describe fails the test.
func together(w *world, n int, send func(i int) (answer, error)) []answer {
	w.Helper()
	answers, faults := make([]answer, n), make([]error, n)
	var start, end sync.WaitGroup
	start.Add(1)
	for i := range n {
		end.Go(func() {
			start.Wait()
			answers[i], faults[i] = send(i)
		})
	}
	start.Done()
	end.Wait()
	for _, err := range faults {
		require.NoError(w, err)
	}
	return answers
}

// statuses counts the answers by status.
func statuses(answers []answer) map[int]int {
	counts := map[int]int{}
	for _, a := range answers {
		counts[a.status]++
	}
	return counts
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	const anna = "anna@example.org"

	t.Run("64PatchesOfDifferentMembersAllSurvive", both(func(w *world) {
		w.enroll(anna)
		answers := together(w, 64, func(i int) (answer, error) {
			fields := object{fmt.Sprintf("k%d", i): i, "deep": object{fmt.Sprintf("k%d", i): i}}
			return w.try(http.MethodPatch, userPath(anna), object{"custom_fields": fields})
		})
		require.Equal(w, map[int]int{http.StatusOK: 64}, statuses(answers))
		var kept map[string]any
		require.NoError(w, json.Unmarshal(read[user](w.get(userPath(anna))).CustomFields, &kept))
		require.Len(w, kept, 64+1)
		require.Len(w, kept["deep"], 64)
	}))

	t.Run("32PostsOfOneEmailGiveOne201", both(func(w *world) {
		answers := together(w, 32, func(i int) (answer, error) {
			email := []string{anna, "ANNA@example.org"}[i%2]
			return w.try(http.MethodPost, userAPIs[i/2%2], object{"email": email, "custom_fields": object{"by": i}})
		})
		require.Equal(w, map[int]int{http.StatusCreated: 1, http.StatusOK: 31}, statuses(answers))
		seen := map[string]bool{}
		for _, a := range answers {
			u := read[user](a)
			require.Equal(w, a.status == http.StatusCreated, u.Created)
			seen[fmt.Sprint(u.ID, u.Username, string(u.CustomFields))] = true
		}
		require.Len(w, seen, 1, "all are told of the same user")
		require.Len(w, read[[]user](w.get(usersPath)), 1)
		require.Len(w, read[[]address](w.get(addressesPath(anna))), 1)
	}))

	t.Run("ConcurrentPostsOfManyEmailsAllSucceed", both(func(w *world) {
		// By contract 1.3, one that fails does not stop the others, and each has its own result.
		answers := together(w, 64, func(i int) (answer, error) {
			if i%4 == 0 {
				return w.try(http.MethodPost, usersPath, object{"email": "nothing"})
			}
			return w.try(http.MethodPost, usersPath, object{"email": fmt.Sprintf("user%d@example.org", i)})
		})
		for i, a := range answers {
			if i%4 == 0 {
				a.isBadRequestFor("email")
				continue
			}
			require.Equal(w, fmt.Sprintf("user%d@example.org", i), read[user](a.is(http.StatusCreated)).Username)
		}
		require.Len(w, read[[]user](w.get(usersPath)), 48)
	}))

	t.Run("PostsOfOneEmailToTwoOrganizationsMakeOneUserAndTwoMembers", both(func(w *world) {
		answers := together(w, 16, func(i int) (answer, error) {
			org := []string{"acme", "globex"}[i%2]
			return w.try(http.MethodPost, "/api/v1/user/"+org+"/", object{"email": anna, "custom_fields": object{"of": org}})
		})
		require.Equal(w, map[int]int{http.StatusCreated: 1, http.StatusOK: 15}, statuses(answers))
		for _, org := range []string{"acme", "globex"} {
			all := read[[]user](w.get("/api/v1/user/" + org + "/"))
			require.Len(w, all, 1)
			require.JSONEq(w, `{"of": "`+org+`"}`, string(all[0].CustomFields))
			require.Len(w, read[[]address](w.get("/api/v1/user/"+org+"/"+anna+"/address/")), 1)
		}
	}))

	t.Run("RegistersOfOneUserMergeAllTheirCustomFields", both(func(w *world) {
		answers := together(w, 32, func(i int) (answer, error) {
			return w.try(http.MethodPost, registerPath, object{
				"username": "anna", "custom_fields": object{fmt.Sprintf("k%d", i): i}, "distribution_list": "customers",
				"addresses": list{preferred(anna), preferred(fmt.Sprintf("anna%d@example.org", i))},
			})
		})
		require.Equal(w, map[int]int{http.StatusCreated: 1, http.StatusOK: 31}, statuses(answers))
		var kept map[string]int
		last := read[registered](w.post(registerPath, object{"username": "anna"}).is(http.StatusOK))
		require.NoError(w, json.Unmarshal(last.Membership.CustomFields, &kept))
		require.Len(w, kept, 32)
		require.Len(w, w.recipients(w.list(listsPath, "customers")), 33)
		added := 0
		for _, a := range answers {
			added += read[registered](a).List.RecipientsAdded
		}
		require.Equal(w, 33, added, "each entry is counted by the call that made it")
	}))

	t.Run("ConcurrentRegistersOfManyUsersAllSucceed", both(func(w *world) {
		large := strings.Repeat("x", 60_000)
		w.post(registerPath, object{"username": "user1", "custom_fields": object{"a": large}}).is(http.StatusCreated)
		answers := together(w, 64, func(i int) (answer, error) {
			name := fmt.Sprintf("user%d", i)
			payload := object{"username": name, "distribution_list": "customers", "addresses": list{preferred(name + "@example.org")}}
			switch {
			case i%4 == 0:
				payload["distribution_list"] = "nobody's"
			case i == 1:
				payload["custom_fields"] = object{"b": large}
			}
			return w.try(http.MethodPost, registerPath, payload)
		})
		for i, a := range answers {
			switch {
			case i%4 == 0:
				a.isBadRequestFor("distribution_list")
			case i == 1:
				a.isBadRequestFor("custom_fields")
			default:
				done := read[registered](a.is(http.StatusCreated))
				require.Equal(w, fmt.Sprintf("user%d", i), done.User.Username)
				require.Equal(w, fmt.Sprintf("user%d@example.org", i), done.Assignments[0].Address)
				require.Equal(w, 1, done.List.RecipientsAdded)
			}
		}
		require.Len(w, read[[]user](w.get(usersPath)), 48, "of those who were refused nothing is kept")
		require.Len(w, w.recipients(w.list(listsPath, "customers")), 47)
	}))

	t.Run("CreatesOfOneListNameGiveOne201", both(func(w *world) {
		answers := together(w, 16, func(i int) (answer, error) {
			return w.try(http.MethodPost, listsPath, object{"name": []string{"News", "NEWS"}[i%2]})
		})
		require.Equal(w, map[int]int{http.StatusCreated: 1, http.StatusBadRequest: 15}, statuses(answers))
		for _, a := range answers {
			if a.status == http.StatusBadRequest {
				a.isBadRequestFor("name")
			}
		}
	}))

	t.Run("AddsOfOneAddressAddItOnce", both(func(w *world) {
		w.enroll(anna)
		l := w.list(listsPath, "customers")
		answers := together(w, 16, func(int) (answer, error) {
			return w.try(http.MethodPost, idPath(listsPath, l.ID)+"add/", list{anna})
		})
		times := 0
		for _, a := range answers {
			times += len(read[added](a.is(http.StatusOK)).Added)
		}
		require.Equal(w, 1, times)
		require.Len(w, w.recipients(l), 1)
	}))

	t.Run("SubscribesOfOneAssignmentGiveOne201", both(func(w *world) {
		a, path := w.assign("anna", anna), w.subscribePath(webPath, "Copy")
		answers := together(w, 16, func(i int) (answer, error) {
			return w.try(http.MethodPost, path, object{"assignment": a.ID, "active": i%2 == 0})
		})
		require.Equal(w, map[int]int{http.StatusCreated: 1, http.StatusOK: 15}, statuses(answers))
		ids := map[int64]bool{}
		for _, a := range answers {
			ids[read[subscribed](a).Subscription] = true
		}
		require.Len(w, ids, 1)
	}))

	t.Run("AddressesOfOneValueGiveOne201", both(func(w *world) {
		w.enroll(anna)
		answers := together(w, 16, func(int) (answer, error) {
			return w.try(http.MethodPost, addressesPath(anna), preferred("work@example.org"))
		})
		require.Equal(w, map[int]int{http.StatusCreated: 1, http.StatusOK: 15}, statuses(answers))
		require.Len(w, read[[]address](w.get(addressesPath(anna))), 2)
	}))

	t.Run("EverythingAtOnceNeverFails", both(func(w *world) {
		l, path := w.list(listsPath, "web-users"), w.subscribePath(webPath, "Copy")
		w.assign("anna", anna)
		steps := []func() (answer, error){
			func() (answer, error) {
				return w.try(http.MethodPost, registerPath, object{"username": "anna", "addresses": list{preferred(anna)}, "distribution_list": "web-users"})
			},
			func() (answer, error) { return w.try(http.MethodPost, usersPath, object{"email": anna}) },
			func() (answer, error) {
				return w.try(http.MethodPatch, userPath("anna"), object{"custom_fields": object{"k": 1}, "first_name": "Anna"})
			},
			func() (answer, error) { return w.try(http.MethodDelete, userPath("anna"), nil) },
			func() (answer, error) { return w.try(http.MethodPost, webPath+"unregister/anna/", nil) },
			func() (answer, error) { return w.try(http.MethodPost, webPath+"unsubscribe/anna/", nil) },
			func() (answer, error) { return w.try(http.MethodPost, idPath(listsPath, l.ID)+"add/", list{anna}) },
			func() (answer, error) { return w.try(http.MethodPost, path, object{"assignment": 1}) },
			func() (answer, error) { return w.try(http.MethodDelete, addressesPath("anna")+"1/", nil) },
			func() (answer, error) { return w.try(http.MethodGet, l.Members, nil) },
		}
		allowed := []int{http.StatusOK, http.StatusCreated, http.StatusBadRequest, http.StatusNotFound}
		for _, a := range together(w, 10*len(steps), func(i int) (answer, error) { return steps[i%len(steps)]() }) {
			require.True(w, slices.Contains(allowed, a.status), a.String())
		}
	}))
}
