package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
)

func TestTenancy(t *testing.T) {
	t.Parallel()

	t.Run("WhatDoesNotExistIs404AtEveryLevelOfEveryRoute", both(func(w *world) {
		w.enroll("anna@example.org")
		w.assign("ben", "ben@example.org") // So that assignment 1 exists, like all else with this id.
		w.post(webPath+"e/shipped/trigger/", object{}).is(http.StatusCreated)
		w.unchanged(func() {
			for _, r := range guarded() {
				for _, level := range []string{"{org}", "{prj}", "{app}", "{evt}", "{username}", "{pk}", "{notification_pk}", "{id}", "{key}"} {
					if !strings.Contains(r.Path, level) {
						continue
					}
					nothing := "nowhere"
					if strings.HasSuffix(level, "pk}") || level == "{id}" || level == "{key}" {
						nothing = "987654321"
					}
					a := w.do(r.Method, w.locate(r, level, nothing), bodyFor(r.Method, r.Path))
					assert.Equal(w, http.StatusNotFound, a.status, "%s of %s: %s", level, r.Path, a)
				}
			}
		})
	}))

	t.Run("ForeignObjectsDoNotExist", both(func(w *world) {
		// globex has the same objects and names as acme, with other ids.
		globex := strings.NewReplacer("/acme/", "/globex/")
		payload := object{"username": "anna", "distribution_list": "web-users", "addresses": list{preferred("anna@example.org")}}
		theirs := read[registered](w.post(globex.Replace(registerPath), payload).is(http.StatusCreated)).Assignments[0]
		users := w.list(globex.Replace(listsPath), "web-users")
		web := read[application](w.get(globex.Replace(webPath)))
		room := read[address](w.post(globex.Replace(addressesPath("anna")), object{"value": "room 5"}).is(http.StatusCreated))
		w.register("ben")
		acme := w.as(w.issue(scope("acme"), access.FullAccess))
		w.unchanged(func() {
			acme.get(userPath("anna")).is(http.StatusNotFound)
			acme.patch(userPath("anna"), object{"custom_fields": object{"k": 1}}).is(http.StatusNotFound)
			acme.delete(userPath("anna"), nil).is(http.StatusNotFound)
			acme.get(addressesPath("anna")).is(http.StatusNotFound)
			acme.delete(idPath(addressesPath("ben"), room.ID), nil).is(http.StatusNotFound)
			acme.get(idPath(listsPath, users.ID)).is(http.StatusNotFound)
			acme.get(idPath(listsPath, users.ID) + "m/").is(http.StatusNotFound)
			acme.post(idPath(listsPath, users.ID)+"add/", list{"anna@example.org"}).is(http.StatusNotFound)
			acme.post(listsPath, object{"name": "new", "application": web.ID}).isBadRequestFor("application")
			acme.post(w.subscribePath(webPath, "Copy"), object{"assignment": theirs.ID}).is(http.StatusNotFound)
			acme.post(webPath+"unregister/anna/", nil).is(http.StatusNotFound)
			acme.post(webPath+"unsubscribe/anna/", nil).is(http.StatusNotFound)
		})
	}))

	t.Run("OrganizationsOfAUserDoNotShareData", both(func(w *world) {
		orgs := map[string]string{"acme": "globex", "globex": "acme"}
		snapshot := func(org string) string {
			at := "/api/v1/user/" + org + "/anna/"
			var b strings.Builder
			for _, path := range []string{at, at + "address/", w.list("/api/o/"+org+"/p/shop/d/", "web-users").Members} {
				b.Write(w.get(path).is(http.StatusOK).body)
			}
			return b.String()
		}
		for org := range orgs {
			web := "/api/o/" + org + "/p/shop/a/web/"
			a := read[registered](w.post(web+"register/", object{
				"username": "anna", "custom_fields": object{"of": org}, "distribution_list": "web-users", "addresses": list{preferred("anna@" + org + ".org")},
			})).Assignments[0]
			w.patch("/api/v1/user/"+org+"/anna/", object{"custom_fields": object{"of": org}}).is(http.StatusOK)
			w.post(w.subscribePath(web, "Copy"), object{"assignment": a.ID}).is(http.StatusCreated)
		}
		w.lock("anna")
		for org, other := range orgs {
			require.NotContains(w, snapshot(org), other)
		}
		require.NotContains(w, snapshot("globex"), `"locked":true`)
		before := snapshot("globex")
		w.patch(userPath("anna"), object{"custom_fields": object{"new": 1}, "_mode": "rewrite"}).is(http.StatusOK)
		w.post(addressesPath("anna"), object{"value": "room 5"}).is(http.StatusCreated)
		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		w.delete(userPath("anna"), nil).is(http.StatusOK)
		require.Equal(w, before, snapshot("globex"))
	}))
}
