package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/access"
)

// sample is a POST that a route accepts.
type sample struct {
	path string
	body any
}

// samples returns a POST for every route, by the path of the route.
func (w *world) samples() map[string]sample {
	w.Helper()
	w.apply(orders())
	anna := w.buyer("anna", "anna@example.org")
	occurrence, failed := w.trigger(object{}), w.trigger(object{})
	list := read[distributionList](w.post(listsPath, object{"name": "Orders"}).is(http.StatusCreated))
	w.add(list, "anna@example.org")
	added := read[[]recipient](w.get(idPath(listsPath, list.ID) + "m/").is(http.StatusOK))[0]
	group := idPath("/api/o/acme/g/", read[named](w.post("/api/o/acme/g/", object{"name": "Board"}).is(http.StatusCreated)).ID)
	member := read[user](w.get(userPath("anna"))).ID
	key := idPath(keysPath, read[named](w.post(keysPath, object{"name": "sample", "grants": []any{"user:read"}}).is(http.StatusCreated)).ID)
	w.enroll("boss@example.org")
	w.put(rolesPath+"boss@example.org/", object{"role": "viewer"}).is(http.StatusOK)
	event := webPath + "e/shipped/"
	notification := idPath(event+"n/", 1)
	for _, owner := range []string{event, notification} {
		w.put(idPath(owner+"t/", 1), object{"text": "Hello"}).is(http.StatusOK)
		w.put(idPath(owner+"t/", 1), object{"text": "Hello again"}).is(http.StatusOK)
	}
	for _, text := range []string{"One", "Two"} {
		w.put("/api/o/acme/partials/footer/", object{"text": text}).is(http.StatusOK)
	}
	const app = "/api/o/{org}/p/{prj}/a/{app}/"
	channel := object{"name": "made", "protocol": "EMAIL", "driver": "mailbox"}
	return map[string]sample{
		"/api/v1/user/{org}/":                                      {usersPath, object{"email": "new@example.org"}},
		"/api/o/{org}/u/":                                          {"/api/o/acme/u/", object{"email": "newer@example.org"}},
		"/api/v1/user/{org}/bulk/":                                 {usersPath + "bulk/", object{"users": []any{object{"email": "bulk@example.org"}}}},
		"/api/o/{org}/u/bulk/":                                     {"/api/o/acme/u/bulk/", object{"users": []any{object{"email": "bulky@example.org"}}}},
		"/api/v1/user/{org}/{username}/address/":                   {addressesPath("anna"), object{"value": "a@example.org"}},
		"/api/o/{org}/u/{username}/address/":                       {"/api/o/acme/u/anna/address/", object{"value": "b@example.org"}},
		"/api/o/":                                                  {"/api/o/", object{"slug": "made", "name": "Made"}},
		"/api/o/{org}/g/":                                          {"/api/o/acme/g/", object{"name": "Made"}},
		"/api/o/{org}/g/{group}/add/":                              {group + "add/", object{"users": []any{member}}},
		"/api/o/{org}/g/{group}/remove/":                           {group + "remove/", object{"users": []any{member}}},
		"/api/o/{org}/p/":                                          {"/api/o/acme/p/", object{"slug": "made", "name": "Made"}},
		"/api/o/{org}/c/":                                          {"/api/o/acme/c/", channel},
		"/api/o/{org}/p/{prj}/c/":                                  {shopPath + "c/", channel},
		"/api/o/{org}/p/{prj}/a/":                                  {shopPath + "a/", object{"slug": "made", "name": "Made"}},
		"/api/o/{org}/p/{prj}/d/":                                  {listsPath, object{"name": "Made"}},
		"/api/o/{org}/p/{prj}/d/{pk}/add/":                         {idPath(listsPath, list.ID) + "add/", []any{"anna@example.org"}},
		"/api/o/{org}/p/{prj}/d/{pk}/remove/":                      {idPath(listsPath, list.ID) + "remove/", object{"recipients": []any{added.ID}}},
		"/api/o/{org}/k/":                                          {keysPath, object{"name": "made", "grants": []any{"user:read"}}},
		"/api/o/{org}/k/{key}/rotate/":                             {key + "rotate/", nil},
		"/api/o/{org}/k/{key}/revoke/":                             {key + "revoke/", nil},
		"/api/o/{org}/r/{username}/invite/":                        {rolesPath + "boss@example.org/invite/", nil},
		app + "e/":                                                 {webPath + "e/", object{"slug": "made", "name": "Made"}},
		app + "e/{evt}/n/":                                         {event + "n/", object{"name": "Made"}},
		app + "register/":                                          {webPath + "register/", object{"username": "registered"}},
		app + "unregister/{username}/":                             {webPath + "unregister/anna/", nil},
		app + "unsubscribe/{username}/":                            {webPath + "unsubscribe/anna/", nil},
		app + "e/{evt}/trigger/":                                   {orderPath, object{}},
		app + "occurrences/{id}/cancel/":                           {occurrencePath(occurrence) + "cancel/", nil},
		app + "occurrences/{id}/retry/":                            {occurrencePath(failed) + "retry/", nil},
		app + "n/{notification_pk}/subscribe/":                     {w.subscribePath(webPath, "Buyer"), object{"assignment": anna.Assignments[0].ID}},
		"/api/o/{org}/partials/{name}/versions/{version}/restore/": {"/api/o/acme/partials/footer/versions/1/restore/", nil},
		app + "e/{evt}/t/{channel}/versions/{version}/restore/":    {idPath(event+"t/", 1) + "versions/1/restore/", nil},
		app + "e/{evt}/n/{notification_pk}/t/{channel}/versions/{version}/restore/": {idPath(notification+"t/", 1) + "versions/1/restore/", nil},
	}
}

// shownOnce reports whether the answers of a route contain a secret. A repetition does not show it.
func shownOnce(path string) bool {
	return strings.HasSuffix(path, "/k/") || strings.HasSuffix(path, "/rotate/") || strings.HasSuffix(path, "/invite/")
}

// repeatableRoutes returns the POST routes that need a key, except for tests of channels, which are
// run each time.
func repeatableRoutes() (all []httpapi.Route) {
	for _, r := range httpapi.Routes() {
		if r.Method == http.MethodPost && r.Grant != "" && !strings.HasSuffix(r.Path, "/c/{channel}/test/") {
			all = append(all, r)
		}
	}
	return all
}

func TestRepetitions(t *testing.T) {
	t.Parallel()

	t.Run("EveryPostIsAnsweredFromTheStore", both(func(w *world) {
		samples := w.samples()
		for _, r := range repeatableRoutes() {
			s, known := samples[r.Path]
			if !assert.True(w, known, "POST %s has no sample", r.Path) {
				continue
			}
			again := w.with("Idempotency-Key", "key of "+r.Path)
			first := again.post(s.path, s.body)
			require.Less(w, first.status, 300, first.String())
			require.Empty(w, first.header.Values("Idempotency-Replayed"))
			w.unchanged(func() {
				if shownOnce(r.Path) {
					same := read[problem](again.post(s.path, s.body).is(http.StatusConflict))
					require.Equal(w, []string{"answered_once", "Idempotency-Key"}, []string{same.Code, same.Param}, r.Path)
				} else {
					same := again.post(s.path, s.body).is(first.status)
					require.Equal(w, string(first.body), string(same.body), r.Path)
					require.Equal(w, "true", same.header.Get("Idempotency-Replayed"), r.Path)
				}
				if s.body != nil && s.path != orderPath { // A trigger refuses members that it does not know before.
					again.post(s.path, object{"email": "another"}).is(http.StatusUnprocessableEntity)
				}
				again.post(listsPath, object{"name": "Another"}).is(http.StatusUnprocessableEntity)
				again.post(orderPath, object{"context": object{"a": 1}}).is(http.StatusUnprocessableEntity)
			})
		}
	}))

	t.Run("RefusalsAreCheckedAgain", both(func(w *world) {
		samples := w.samples()
		stranger := w.as(w.issue(scope("globex"), access.Grants()...))
		for _, r := range repeatableRoutes() {
			s := samples[r.Path]
			w.unchanged(func() {
				for range 2 {
					a := stranger.with("Idempotency-Key", "refused").post(s.path, s.body).is(http.StatusForbidden)
					require.Empty(w, a.header.Values("Idempotency-Replayed"), r.Path)
					if s.body != nil {
						a = w.with("Idempotency-Key", "key of "+r.Path).post(s.path, raw(`[{`)).is(http.StatusBadRequest)
						require.Empty(w, a.header.Values("Idempotency-Replayed"), r.Path)
					}
				}
			})
			a := w.with("Idempotency-Key", "key of "+r.Path).post(s.path, s.body)
			require.Less(w, a.status, 300, "%s: a refused request does not use up its key: %s", r.Path, a)
		}
	}))

	t.Run("AtTheSameMomentMakeOneThing", both(func(w *world) {
		m := w.manager()
		for _, s := range []sample{
			{"/api/o/acme/p/", object{"slug": "made", "name": "Made"}}, {"/api/o/acme/g/", object{"name": "Made"}},
			{webPath + "e/", object{"slug": "made", "name": "Made"}}, {keysPath, object{"name": "made", "grants": []any{"user:read"}}},
		} {
			again, fresh := m.with("Idempotency-Key", "key of "+s.path), 0
			bodies := map[string]bool{}
			for _, a := range together(w, 6, func(int) (answer, error) { return again.try(http.MethodPost, s.path, s.body) }) {
				if s.path == keysPath && a.status == http.StatusConflict {
					continue
				}
				bodies[string(a.is(http.StatusCreated).body)] = true
				if a.header.Get("Idempotency-Replayed") == "" {
					fresh++
				}
			}
			require.Len(w, bodies, 1, s.path)
			require.Equal(w, 1, fresh, s.path)
		}
	}))

	t.Run("AnAnswerWithASecretIsNotKept", both(func(w *world) {
		samples := w.samples()
		told := 0
		for _, r := range repeatableRoutes() {
			if !shownOnce(r.Path) {
				continue
			}
			s := samples[r.Path]
			a := w.with("Idempotency-Key", "key of "+r.Path).post(s.path, s.body).is(http.StatusCreated)
			answer := read[struct{ Token, Link string }](a)
			secret := answer.Token + answer.Link
			if parts := strings.Split(strings.TrimSuffix(answer.Link, "/"), "/"); answer.Link != "" {
				secret = parts[len(parts)-1]
			}
			require.GreaterOrEqual(w, len(secret), 64, r.Path)
			told++
			tables := w.tables()
			require.NotEmpty(w, tables["requests"], "requests are kept there")
			for table, rows := range tables {
				for _, row := range rows {
					require.NotContains(w, row, secret, "%s: %s", r.Path, table)
				}
			}
		}
		require.Equal(w, 3, told)
	}))
}
