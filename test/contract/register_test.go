package contract_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const registerPath = webPath + "register/"

func TestRegister(t *testing.T) {
	t.Parallel()

	t.Run("HasNoDryRun", both(func(w *world) {
		w.unchanged(func() {
			w.post(registerPath+"?dry_run=true", object{"username": "anna", "distribution_list": "customers"}).isBadRequestFor("dry_run")
			w.delete(usersPath+"anna/?dry_run=true", nil).isBadRequestFor("dry_run")
			w.post(webPath+"occurrences/1/cancel/?dry_run=true", nil).isBadRequestFor("dry_run")
		})
	}))

	t.Run("CreatesTheUserAndAnswersWithEverything", both(func(w *world) {
		a := w.post(registerPath, object{
			"username": "anna", "first_name": "Anna", "last_name": "Lee", "email": "anna@example.org",
			"custom_fields": object{"plan": "pro"}, "active": true, "distribution_list": "customers",
			"addresses": list{object{"value": "+4915112345678", "name": "mobile", "assign_to_preferred_channel": true}},
		}).is(http.StatusCreated)
		done := read[registered](a)
		a.json(fmt.Sprintf(`{
			"user": {"username": "anna", "first_name": "Anna", "last_name": "Lee", "email": "anna@example.org"},
			"created": true,
			"membership": {"custom_fields": {"plan": "pro"}, "active": true, "locked": false, "enable_notifications": true},
			"addresses": [{"value": "+4915112345678", "name": "mobile", "type": "phone"}],
			"assignments": [{"id": %d, "address": "+4915112345678", "channel": "text", "protocol": "SMS"}],
			"skipped": [],
			"distribution_list": {"name": "customers", "recipients_added": 1}
		}`, done.Assignments[0].ID))
		u := read[user](w.get(userPath("anna")).is(http.StatusOK))
		require.Equal(w, []string{"anna", "anna@example.org", "Anna", "Lee"}, []string{u.Username, u.Email, u.FirstName, u.LastName})
	}))

	t.Run("NeedsOnlyTheUsername", both(func(w *world) {
		w.post(registerPath, object{"username": "anna"}).is(http.StatusCreated).json(`{
			"user": {"username": "anna", "first_name": "", "last_name": "", "email": ""},
			"created": true,
			"membership": {"custom_fields": {}, "active": true, "locked": false, "enable_notifications": true},
			"addresses": [], "assignments": [], "skipped": [], "distribution_list": null
		}`)
		w.post(registerPath, object{"first_name": "Anna"}).isBadRequestFor("username")
	}))

	t.Run("CreatesNoAddressBeyondThoseSent", both(func(w *world) {
		w.register("anna@example.org", object{"email": "anna@example.org"})
		require.Empty(w, read[[]address](w.get(addressesPath("anna@example.org"))))
	}))

	t.Run("ExistingUserIs200AndNotUpdated", both(func(w *world) {
		w.post(usersPath, object{"email": "anna@example.org", "first_name": "Anna", "custom_fields": object{"of": "acme"}}).is(http.StatusCreated)
		before := w.get(userPath("anna@example.org"))
		a := w.post(registerPath, object{
			"username": "ANNA@example.org", "first_name": "Bettina", "last_name": "Kim", "email": "ben@example.org", "custom_fields": object{"of": "web"},
		}).is(http.StatusOK)
		done := read[registered](a)
		require.False(w, done.Created)
		require.Equal(w, "anna@example.org Anna  anna@example.org", done.User.Username+" "+done.User.FirstName+" "+done.User.LastName+" "+done.User.Email)
		require.Equal(w, string(before.body), string(w.get(userPath("anna@example.org")).body))
		require.JSONEq(w, `{"of": "web"}`, string(done.Membership.CustomFields))
	}))

	t.Run("NeverFindsAUserByEmail", both(func(w *world) {
		w.register("anna", object{"email": "anna@example.org"})
		done := w.register("anna@example.org", object{"email": "anna@example.org"})
		require.True(w, done.Created)
		require.Len(w, read[[]user](w.get(usersPath)), 2)
	}))

	t.Run("EnrollsAUserOfAnotherOrganization", both(func(w *world) {
		w.post("/api/v1/user/globex/", object{"email": "anna@example.org", "first_name": "Anna", "custom_fields": object{"of": "globex"}}).is(http.StatusCreated)
		w.get(userPath("anna@example.org")).is(http.StatusNotFound)
		done := read[registered](w.post(registerPath, object{"username": "anna@example.org", "first_name": "Bettina"}).is(http.StatusOK))
		require.False(w, done.Created)
		require.Equal(w, "Bettina", done.User.FirstName)
		u := read[user](w.get(userPath("anna@example.org")).is(http.StatusOK))
		require.JSONEq(w, `{}`, string(u.CustomFields))
	}))

	t.Run("IsIdempotent", both(func(w *world) {
		payload := object{
			"username": "anna", "first_name": "Anna", "email": "anna@example.org", "custom_fields": object{"a": object{"b": 1}}, "active": false,
			"addresses":         list{preferred("anna@example.org"), preferred("+4915112345678"), object{"value": "room 5", "name": "desk"}},
			"distribution_list": "customers",
		}
		first := read[registered](w.post(registerPath, payload).is(http.StatusCreated))
		require.Equal(w, 2, first.List.RecipientsAdded)
		w.unchanged(func() {
			second := read[registered](w.post(registerPath, payload).is(http.StatusOK))
			require.Equal(w, 0, second.List.RecipientsAdded)
			second.Created, second.List.RecipientsAdded = true, 2
			require.Equal(w, first, second)
		})
	}))

	t.Run("MergesCustomFieldsIntoTheMembershipAtEveryDepth", both(func(w *world) {
		w.register("anna", object{"custom_fields": object{"a": object{"b": 1, "c": object{"d": 2}}, "e": 3}})
		done := read[registered](w.post(registerPath, object{"username": "anna", "custom_fields": object{"a": object{"c": object{"x": nil}}, "e": list{1}}}).is(http.StatusOK))
		require.JSONEq(w, `{"a": {"b": 1, "c": {"d": 2, "x": null}}, "e": [1]}`, string(done.Membership.CustomFields))
		again := read[registered](w.post(registerPath, object{"username": "anna"}).is(http.StatusOK))
		require.JSONEq(w, string(done.Membership.CustomFields), string(again.Membership.CustomFields))
	}))

	t.Run("KeepsCustomFieldsPerApplication", both(func(w *world) {
		for _, at := range []string{webPath, officePath, "/api/o/acme/p/blog/a/web/", "/api/o/globex/p/shop/a/web/"} {
			a := w.post(at+"register/", object{"username": "anna", "custom_fields": object{at: true}})
			require.JSONEq(w, `{"`+at+`": true}`, string(read[registered](a).Membership.CustomFields))
		}
	}))

	t.Run("SetsActiveEachTimeAndAbsentMeansTrue", both(func(w *world) {
		require.False(w, w.register("anna", object{"active": false}).Membership.Active)
		for _, step := range []struct {
			sent object
			want bool
		}{{object{}, true}, {object{"active": false}, false}, {object{"active": nil}, true}, {object{"active": false}, false}, {object{"active": true}, true}} {
			step.sent["username"] = "anna"
			require.Equal(w, step.want, read[registered](w.post(registerPath, step.sent).is(http.StatusOK)).Membership.Active, step)
		}
	}))

	t.Run("NeverTouchesLockedOrEnableNotifications", both(func(w *world) {
		w.register("anna")
		w.lockMembership("anna")
		w.disable("anna")
		for range 2 {
			done := read[registered](w.post(registerPath, object{"username": "anna", "locked": false, "enable_notifications": true, "active": true}).is(http.StatusOK))
			require.True(w, done.Membership.Locked)
			require.False(w, done.Membership.EnableNotifications)
		}
	}))

	t.Run("ALockSurvivesUnregisterAndANewRegister", both(func(w *world) {
		w.register("anna")
		w.lockMembership("anna")
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK)
		require.True(w, read[registered](w.post(registerPath, object{"username": "anna"}).is(http.StatusOK)).Membership.Locked)
		require.False(w, read[registered](w.post(officePath+"register/", object{"username": "anna"}).is(http.StatusOK)).Membership.Locked)
		w.setLocked("anna", false)
		require.False(w, read[registered](w.post(registerPath, object{"username": "anna"}).is(http.StatusOK)).Membership.Locked)
	}))

	t.Run("ALockMayComeBeforeTheMembership", both(func(w *world) {
		w.enroll("anna@example.org")
		w.lockMembership("anna@example.org")
		require.True(w, read[registered](w.post(registerPath, object{"username": "anna@example.org"}).is(http.StatusOK)).Membership.Locked)
	}))

	t.Run("LeavesTheMembersOwnLockAndGroups", both(func(w *world) {
		w.enroll("anna@example.org")
		w.lock("anna@example.org")
		done := read[registered](w.post(registerPath, object{"username": "anna@example.org"}).is(http.StatusOK))
		assert.False(w, done.Membership.Locked, "it is the membership of the application that this tells of")
		u := read[user](w.get(userPath("anna@example.org")))
		assert.True(w, u.Locked)
		assert.Equal(w, []string{"Default"}, u.Groups)
	}))
}
