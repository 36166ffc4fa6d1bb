package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTransitions checks each line of the table of contract 3.
func TestTransitions(t *testing.T) {
	t.Parallel()
	memberships := func(w *world) []string {
		return w.rows(`SELECT CASE WHEN active THEN 'active' ELSE 'inactive' END FROM application_memberships`)
	}
	subscriptions := func(w *world) []string {
		return w.rows(`SELECT CASE WHEN active THEN 'active' ELSE 'inactive' END FROM subscriptions`)
	}

	t.Run("NoMembershipRegister", both(func(w *world) {
		w.register("anna")
		w.register("ben", object{"active": false, "custom_fields": object{"k": 1}})
		require.ElementsMatch(w, []string{"active", "inactive"}, memberships(w))
	}))

	t.Run("MembershipRegister", both(func(w *world) {
		w.register("anna")
		w.post(registerPath, object{"username": "anna", "active": false}).is(http.StatusOK)
		require.Equal(w, []string{"inactive"}, memberships(w))
		w.unchanged(func() { w.post(registerPath, object{"username": "anna", "active": false}).is(http.StatusOK) })
	}))

	t.Run("MembershipUnregister", both(func(w *world) {
		w.register("anna", object{"distribution_list": "web-users", "addresses": list{preferred("anna@example.org")}})
		entries := w.tables()["list_entries"]
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		require.Empty(w, memberships(w))
		require.Equal(w, entries, w.tables()["list_entries"])
	}))

	t.Run("NoMembershipUnregister", both(func(w *world) {
		w.enroll("anna@example.org")
		w.unchanged(func() { w.post(webPath+"unregister/anna@example.org/", nil).is(http.StatusOK).json(`{"deleted": 0}`) })
	}))

	t.Run("NoSubscriptionSubscribe", both(func(w *world) {
		path := w.subscribePath(webPath, "Copy")
		w.post(path, object{"assignment": w.assign("anna", "anna@example.org").ID}).is(http.StatusCreated)
		w.post(path, object{"assignment": w.assign("ben", "ben@example.org").ID, "active": false}).is(http.StatusCreated)
		require.ElementsMatch(w, []string{"active", "inactive"}, subscriptions(w))
	}))

	t.Run("SubscriptionSubscribe", both(func(w *world) {
		path, a := w.subscribePath(webPath, "Copy"), w.assign("anna", "anna@example.org")
		w.post(path, object{"assignment": a.ID}).is(http.StatusCreated)
		w.post(path, object{"assignment": a.ID, "active": false}).is(http.StatusOK)
		require.Equal(w, []string{"inactive"}, subscriptions(w))
	}))

	t.Run("SubscriptionUnsubscribe", both(func(w *world) {
		path, a := w.subscribePath(webPath, "Copy"), w.assign("anna", "anna@example.org")
		w.post(path, object{"assignment": a.ID}).is(http.StatusCreated)
		for range 2 {
			w.delete(path, object{"assignment": a.ID}).is(http.StatusOK)
			require.Equal(w, []string{"inactive"}, subscriptions(w))
		}
	}))

	t.Run("ListMemberUnsubscribe", both(func(w *world) {
		w.register("anna", object{"distribution_list": "web-users", "addresses": list{preferred("anna@example.org")}})
		before := w.tables()["application_memberships"]
		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		require.Empty(w, w.tables()["list_entries"])
		require.Equal(w, before, w.tables()["application_memberships"])
	}))

	t.Run("NoCallOfTheContractMovesTheLock", both(func(w *world) {
		w.register("anna", object{"distribution_list": "web-users", "addresses": list{preferred("anna@example.org")}})
		w.lockMembership("anna")
		locks := w.tables()["application_locks"]
		require.Len(w, locks, 1)
		w.post(registerPath, object{"username": "anna", "locked": false, "active": false}).is(http.StatusOK)
		w.patch(userPath("anna"), object{"locked": false, "custom_fields": object{"locked": false}}).is(http.StatusOK)
		w.post(usersPath, object{"email": "anna@example.org", "locked": false}).is(http.StatusCreated)
		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK)
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK)
		w.post(registerPath, object{"username": "anna"}).is(http.StatusOK)
		require.Equal(w, locks, w.tables()["application_locks"])
	}))
}
