package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestApplications(t *testing.T) {
	t.Parallel()

	t.Run("ShowIDNameSlugAndEvents", both(func(w *world) {
		web, office := read[application](w.get(webPath).is(http.StatusOK)), read[application](w.get(officePath).is(http.StatusOK))
		require.Equal(w, application{ID: web.ID, Name: "Web", Slug: "web", Active: true, Events: w.base + webPath + "e/"}, web)
		require.Equal(w, []application{web, office}, read[[]application](w.get(shopPath+"a/").is(http.StatusOK)))
	}))
}

func TestUnregister(t *testing.T) {
	t.Parallel()

	t.Run("DeletesTheMembershipAndReportsTheCount", both(func(w *world) {
		w.register("anna", object{"custom_fields": object{"k": 1}})
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK).json(`{"deleted": 0}`)
		again := read[registered](w.post(webPath+"register/", object{"username": "anna"}).is(http.StatusOK))
		require.JSONEq(w, `{}`, string(again.Membership.CustomFields))
	}))

	t.Run("LeavesListsAddressesAndOtherApplications", both(func(w *world) {
		w.register("anna", object{"distribution_list": "web-users", "addresses": list{preferred("anna@example.org")}})
		office := object{"username": "anna", "custom_fields": object{"of": "office"}}
		w.post(officePath+"register/", office).is(http.StatusOK)
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK)
		require.Len(w, w.recipients(w.list(listsPath, "web-users")), 1)
		require.Len(w, read[[]address](w.get(addressesPath("anna"))), 1)
		w.post(officePath+"unregister/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
	}))

	t.Run("NeverRegisteredIs0", both(func(w *world) {
		w.enroll("anna@example.org")
		w.unchanged(func() {
			w.post(webPath+"unregister/anna@example.org/", nil).is(http.StatusOK).json(`{"deleted": 0}`)
		})
	}))

	t.Run("NonMemberIs404", both(func(w *world) {
		w.post("/api/v1/user/globex/", object{"email": "anna@example.org"}).is(http.StatusCreated)
		w.post(webPath+"unregister/anna@example.org/", nil).is(http.StatusNotFound)
		w.post(webPath+"unregister/nobody/", nil).is(http.StatusNotFound)
	}))

	t.Run("MeansOnlyTheUsername", both(func(w *world) {
		w.register("anna", object{"email": "anna@example.org"})
		w.unchanged(func() { w.post(webPath+"unregister/anna@example.org/", nil).is(http.StatusNotFound) })
		w.post(webPath+"unregister/Anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
	}))

	t.Run("HasNoBodyAndIgnoresOne", both(func(w *world) {
		w.register("anna")
		w.with("Content-Type", "text/plain").post(webPath+"unregister/anna/", raw("{")).is(http.StatusOK).json(`{"deleted": 1}`)
	}))
}

func TestUnsubscribeFromLists(t *testing.T) {
	t.Parallel()

	t.Run("TakesTheUserOffAllListsPinnedToTheApplication", both(func(w *world) {
		web := read[application](w.get(webPath))
		w.post(listsPath, object{"name": "web-2", "application": web.ID}).is(http.StatusCreated)
		for _, username := range []string{"anna", "ben"} {
			w.register(username, object{"addresses": list{preferred(username + "@example.org"), preferred("+4915112345678")}, "distribution_list": "web-users"})
		}
		for _, name := range []string{"web-2", "office-users", "customers"} {
			w.add(w.list(listsPath, name), "anna@example.org", "ben@example.org")
		}
		// Anna has two entries on web-users and one on web-2.
		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 3}`)
		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 0}`)
		for name, left := range map[string]int{"web-users": 2, "web-2": 1, "office-users": 2, "customers": 2} {
			require.Len(w, w.recipients(w.list(listsPath, name)), left, name)
		}
	}))

	t.Run("LeavesTheMembershipOfTheApplication", both(func(w *world) {
		w.register("anna", object{"custom_fields": object{"k": 1}, "active": false})
		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 0}`)
		w.post(webPath+"unregister/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
	}))

	t.Run("LeavesTheListsOfOtherProjectsAndOrganizations", both(func(w *world) {
		payload := object{"username": "anna", "addresses": list{preferred("anna@example.org")}, "distribution_list": "web-users"}
		w.post(webPath+"register/", payload).is(http.StatusCreated)
		w.post("/api/o/globex/p/shop/a/web/register/", payload).is(http.StatusOK)
		w.post("/api/o/acme/p/blog/a/web/unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 0}`)
		w.post(webPath+"unsubscribe/anna/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
		require.Len(w, w.recipients(w.list("/api/o/globex/p/shop/d/", "web-users")), 1)
	}))

	t.Run("NonMemberIs404", both(func(w *world) {
		w.post("/api/v1/user/globex/", object{"email": "anna@example.org"}).is(http.StatusCreated)
		w.post(webPath+"unsubscribe/anna@example.org/", nil).is(http.StatusNotFound)
		w.post(webPath+"unsubscribe/nobody/", nil).is(http.StatusNotFound)
	}))

	t.Run("HasNoBodyAndIgnoresOne", both(func(w *world) {
		w.register("anna")
		w.post(webPath+"unsubscribe/anna/", raw("[")).is(http.StatusOK).json(`{"deleted": 0}`)
	}))
}

// lockMembership locks a member of acme out of acme/shop/web, as the console does.
func (w *world) lockMembership(username string) { w.Helper(); w.setLocked(username, true) }

func (w *world) setLocked(username string, locked bool) {
	w.Helper()
	ctx := w.Context()
	w.update(func(tx ports.Tx) error {
		var m users.Member
		a, err := tx.Applications().BySlug(ctx, "acme", "shop", "web")
		if err == nil {
			m, err = tx.Users().ByUsername(ctx, a.Organization, username)
		}
		if err != nil {
			return err
		}
		return tx.Applications().SetLocked(ctx, a, m.ID, locked)
	})
}

// disable disables a membership's notifications, as the console does.
func (w *world) disable(username string) {
	w.Helper()
	ctx := w.Context()
	w.update(func(tx ports.Tx) error {
		var m users.Member
		a, err := tx.Applications().BySlug(ctx, "acme", "shop", "web")
		if err == nil {
			m, err = tx.Users().ByUsername(ctx, a.Organization, username)
		}
		if err != nil {
			return err
		}
		ms, _, err := tx.Applications().Memberships(ctx, a, []users.MemberID{m.ID})
		if err != nil {
			return err
		}
		ms[0].EnableNotifications = false
		return tx.Applications().SaveMemberships(ctx, a, ms)
	})
}
