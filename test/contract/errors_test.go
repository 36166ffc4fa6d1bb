package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
)

// TestErrors checks that code says what is wrong, and param where.
func TestErrors(t *testing.T) {
	t.Parallel()

	t.Run("SayWhichPartOfThePathDoesNotExist", both(func(w *world) {
		w.apply(orders())
		w.enroll("anna@example.org")
		ours := w.as(w.issue(scope("acme"), access.FullAccess))
		for path, want := range map[string]string{
			"GET /api/o/acme/p/none/":                                            "project_not_found prj",
			"GET /api/o/acme/p/none/a/web/":                                      "project_not_found prj",
			"GET /api/o/acme/p/shop/a/none/":                                     "application_not_found app",
			"GET /api/o/acme/p/shop/a/none/e/":                                   "application_not_found app",
			"GET /api/o/acme/p/none/d/":                                          "project_not_found prj",
			"GET /api/o/acme/p/shop/d/4000/":                                     "list_not_found pk",
			"GET /api/o/acme/p/shop/d/4000/m/":                                   "list_not_found pk",
			"GET /api/o/acme/p/shop/d/news/":                                     "path_not_found pk",
			"GET " + userPath("nobody"):                                          "user_not_found username",
			"GET " + addressesPath("nobody"):                                     "user_not_found username",
			"DELETE " + addressesPath("anna@example.org") + "4000/":              "address_not_found id",
			"DELETE " + userPath("nobody"):                                       "user_not_found username",
			"POST " + webPath + "unregister/nobody/":                             "user_not_found username",
			"POST " + webPath + "e/none/trigger/ {}":                             "event_not_found evt",
			"GET " + webPath + "occurrences/4000/":                               "occurrence_not_found id",
			"POST " + webPath + "n/4000/subscribe/ " + `{"assignment":1}`:        "notification_not_found notification_pk",
			"POST " + w.subscribePath(webPath, "Buyer") + ` {"assignment":4000}`: "assignment_not_found assignment",
			"DELETE " + w.subscribePath(webPath, "Buyer") + "?assignment=4000":   "subscription_not_found assignment",
			"GET /api/o/acme/p/shop/lists/":                                      "path_not_found lists",
		} {
			method, rest, _ := strings.Cut(path, " ")
			at, text, sent := strings.Cut(rest, " ")
			var body any
			if sent {
				body = raw(text)
			}
			a := ours.do(method, at, body).is(http.StatusNotFound)
			p := read[problem](a)
			require.Equal(w, want, p.Code+" "+p.Param, "%s: %s", path, p.Detail)
		}
	}))

	// Outside of the key's scope, the answer is the same for objects that exist and for others,
	// whatever else the path names.
	t.Run("RevealNothingOutsideTheScope", both(func(w *world) {
		ours := w.as(w.issue(scope("acme/shop/web"), access.FullAccess)).with("X-Request-ID", "same")
		for there, none := range map[string]string{
			"/api/o/globex/":                 "/api/o/nobody/",
			"/api/o/globex/p/shop/a/web/":    "/api/o/globex/p/none/a/web/",
			"/api/o/acme/p/shop/a/office/":   "/api/o/acme/p/shop/a/none/",
			"/api/o/globex/p/shop/d/1/":      "/api/o/nobody/p/shop/d/x/",
			"/api/v1/user/globex/anna/":      "/api/v1/user/nobody/anna/",
			"/api/o/acme/p/shop/a/office/e/": "/api/o/acme/p/shop/a/none/e/",
		} {
			a, b := ours.get(there).is(http.StatusForbidden), ours.get(none).is(http.StatusForbidden)
			require.Equal(w, string(a.body), string(b.body))
			p := read[problem](a)
			require.Equal(w, "out_of_scope", p.Code)
			require.Contains(w, []string{"org", "app"}, p.Param, "the first part of the path that is not the key's")
		}
		p := read[problem](ours.get("/api/o/acme/p/shop/d/").is(http.StatusForbidden))
		require.Equal(w, "out_of_scope", p.Code)
		require.Empty(w, p.Param, "the key is for less than the call is about")
	}))

	t.Run("NameTheFirstMistakeAndListAll", both(func(w *world) {
		w.apply(orders())
		p := read[problem](w.post(orderPath, object{"context": object{}, "options": object{"limit_to": list{"nobody"}, "channels": list{"pigeon"}}}).is(http.StatusBadRequest))
		require.Equal(w, "unknown_recipient options.limit_to", p.Code+" "+p.Param)
		require.Len(w, p.Errors, 2)
		p = read[problem](w.post("/api/o/acme/p/shop/d/", object{"name": "News"}))
		require.Empty(w, p.Code)
		p = read[problem](w.post("/api/o/acme/p/shop/d/", object{"name": "news"}).is(http.StatusBadRequest))
		require.Equal(w, "name_taken name", p.Code+" "+p.Param)
		p = read[problem](w.post(webPath+"register/", object{"username": "anna", "distribution_list": "none"}).is(http.StatusBadRequest))
		require.Equal(w, "unknown_list distribution_list", p.Code+" "+p.Param)
		a := w.with("Idempotency-Key", "one").post(orderPath, object{}).is(http.StatusCreated)
		require.NotEmpty(w, a.body)
		p = read[problem](w.with("Idempotency-Key", "one").post(orderPath, object{"context": object{"number": 2}}).is(http.StatusUnprocessableEntity))
		require.Equal(w, "idempotency_key_reused Idempotency-Key", p.Code+" "+p.Param)
	}))

	t.Run("NameThePartOfThePathWhenThereIsNoBody", both(func(w *world) {
		w.apply(orders())
		m := w.manager()
		created := func(path string, body object) string {
			return idPath(path, read[named](m.post(path, body).is(http.StatusCreated)).ID)
		}
		pool := created(shopPath+"c/", object{"name": "spare", "protocol": "SMS", "driver": "mailbox", "pool": "spare"})
		m.post(webPath+"e/", object{"slug": "pooled", "name": "Pooled", "pools": list{"spare"}}).is(http.StatusCreated)
		list := created(listsPath, object{"name": "Used"})
		m.post(webPath+"e/pooled/n/", object{"name": "Used", "distribution_list": read[named](m.get(list)).ID}).is(http.StatusCreated)
		group := created("/api/o/acme/g/", object{"name": "Board"})
		m.post(group+"add/", object{"users": []any{w.member("ann@example.org")}}).is(http.StatusOK)
		byDefault := idPath("/api/o/acme/g/", int64(w.groupOf("acme", "Default")))
		occurrence := idPath(webPath+"occurrences/", read[struct{ Occurrence int64 }](m.post(orderPath, object{}).is(http.StatusCreated)).Occurrence)
		m.post(occurrence+"cancel/", nil).is(http.StatusOK)
		key := idPath("/api/o/acme/k/", read[named](m.post("/api/o/acme/k/", object{"name": "old", "grants": []string{"event:list"}}).is(http.StatusCreated)).ID)
		m.post(key+"revoke/", nil).is(http.StatusOK)
		for _, c := range []struct{ method, path, body, want string }{
			{http.MethodDelete, pool, "", "in_use channel"},
			{http.MethodPatch, pool, `{"pool": "other"}`, "in_use pool"},
			{http.MethodDelete, list, "", "in_use pk"},
			{http.MethodDelete, webPath, "", "in_use app"},
			{http.MethodDelete, webPath + "e/pooled/", "", "in_use evt"},
			{http.MethodDelete, group, "", "in_use group"},
			{http.MethodDelete, byDefault, "", "reserved group"},
			{http.MethodPatch, byDefault, `{"name": "All"}`, "reserved name"},
			{http.MethodPost, "/api/o/", `{"slug": "system", "name": "System"}`, "reserved slug"},
			{http.MethodPost, key + "rotate/", "", "key_ended key"},
			{http.MethodPost, occurrence + "retry/", "", "occurrence_over id"},
			{http.MethodPatch, key, `{"name": "New"}`, "key_ended key"},
		} {
			var body any
			if c.body != "" {
				body = raw(c.body)
			}
			p := read[problem](w.do(c.method, c.path, body).is(http.StatusBadRequest))
			require.Equal(w, c.want, p.Code+" "+p.Param, "%s %s", c.method, c.path)
			require.Equal(w, map[string][]string{p.Param: {strings.TrimPrefix(p.Detail, p.Param+": ")}}, p.Errors)
		}
		m.patch(webPath+"e/order/", object{"active": false}).is(http.StatusOK)
		p := read[problem](m.post(orderPath, object{}).is(http.StatusBadRequest))
		require.Equal(w, "event_inactive evt", p.Code+" "+p.Param)
		m.patch(webPath, object{"active": false}).is(http.StatusOK)
		p = read[problem](m.post(orderPath, object{}).is(http.StatusBadRequest))
		require.Equal(w, "application_inactive app", p.Code+" "+p.Param)
	}))

	t.Run("LeadToThePageOfTheirCode", both(func(w *world) {
		for _, a := range []answer{w.nobody().get("/api/o/acme/"), w.get("/api/o/acme/p/none/"), w.post(usersPath, object{})} {
			p := read[problem](a)
			page := w.nobody().get(p.Type).is(http.StatusOK)
			require.Equal(w, "text/html; charset=UTF-8", page.header.Get("Content-Type"))
			require.Contains(w, string(page.body), fmt.Sprintf("<code>%s</code>", p.Code))
		}
	}))
}
