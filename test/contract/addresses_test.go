package contract_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	const anna = "anna@example.org"

	types := []struct{ value, kind, stored string }{
		{"ben@example.org", "email", "ben@example.org"},
		{"Ben.Lee+Tag@Example.ORG", "email", "Ben.Lee+Tag@Example.ORG"},
		{`"ben lee"@example.org`, "email", `"ben lee"@example.org`},
		{"bän@exämple.org", "email", "bän@exämple.org"},
		{"+4915112345678", "phone", "+4915112345678"},
		{"+49 (0)1511 2345678", "phone", "+4915112345678"},
		{"+1 415-555-2671", "phone", "+14155552671"},
		{"+49", "generic", "+49"},
		{"+999123", "generic", "+999123"},
		{"4915112345678", "generic", "4915112345678"},
		{"https://example.org/hook?x=1#y", "url", "https://example.org/hook?x=1#y"},
		{"HTTP://example.org", "url", "HTTP://example.org"},
		{"ftp://example.org", "generic", "ftp://example.org"},
		{"https://", "generic", "https://"},
		{"example.org", "generic", "example.org"},
		{"@anna", "generic", "@anna"},
		{"#general", "generic", "#general"},
		{"U024BE7LH", "generic", "U024BE7LH"},
		{"Ben <ben@example.org>", "generic", "Ben <ben@example.org>"},
		{"ben@", "generic", "ben@"},
		{"漢字", "generic", "漢字"},
	}
	t.Run("HaveATypeDerivedFromTheValueWhichTheNameDefaultsTo", both(func(w *world) {
		w.enroll(anna)
		for _, c := range types {
			// An address that is stored in another form is found by both.
			got := w.post(addressesPath(anna), object{"value": c.value})
			require.Contains(w, []int{http.StatusCreated, http.StatusOK}, got.status, got)
			a := read[address](got)
			require.Equal(w, address{ID: a.ID, Value: c.stored, Name: c.kind, Type: c.kind}, a, c.value)
			require.Equal(w, a, read[address](w.post(addressesPath(anna), object{"value": c.stored}).is(http.StatusOK)))
		}
	}))

	t.Run("AreRefusedWhereNothingCouldBeSentTo", both(func(w *world) {
		w.enroll(anna)
		for _, value := range []string{"015112345678", "030 123456", "(415) 555-2671", "a@-x.test"} {
			w.post(addressesPath(anna), object{"value": value}).isBadRequestFor("value")
		}
	}))

	t.Run("WithoutCountryCodeAreThoseOfTheOrganizationsRegion", both(func(w *world) {
		w.enroll(anna)
		w.post("/api/o/globex/u/", object{"email": anna})
		w.inShop("", func(tx ports.Tx, shop orgs.Project, _ users.Member) error {
			return tx.Orgs().SetRegion(w.Context(), shop.Organization, "DE")
		})
		require.Equal(w, "DE", read[struct {
			Region string `json:"default_region"`
		}](w.get("/api/o/acme/").is(http.StatusOK)).Region)
		a := read[address](w.post(addressesPath(anna), object{"value": "030 123456"}).is(http.StatusCreated))
		require.Equal(w, address{ID: a.ID, Value: "+4930123456", Name: "phone", Type: "phone"}, a)
		require.Equal(w, a, read[address](w.post(addressesPath(anna), object{"value": "+49 30 123456"}).is(http.StatusOK)))
		done := w.post(webPath+"register/", object{"username": anna, "addresses": []object{{"value": "0171 1234567"}}}).is(http.StatusOK)
		require.Contains(w, string(done.body), "+491711234567")
		w.post("/api/o/globex/u/"+anna+"/address/", object{"value": "030 123456"}).isBadRequestFor("value")
	}))

	t.Run("TakeANameThatMayRepeat", both(func(w *world) {
		w.enroll(anna)
		for i := range 3 {
			a := read[address](w.post(addressesPath(anna), object{"value": fmt.Sprintf("room %d", i), "name": "work"}).is(http.StatusCreated))
			require.Equal(w, "work", a.Name)
		}
		require.Len(w, read[[]address](w.get(addressesPath(anna)).is(http.StatusOK)), 4)
	}))

	t.Run("IgnoreASentType", both(func(w *world) {
		w.enroll(anna)
		require.Equal(w, "generic", read[address](w.post(addressesPath(anna), object{"value": "x", "type": "email"}).is(http.StatusCreated)).Type)
	}))

	t.Run("AreUniquePerMemberAndEmailsWithoutRegardToCase", both(func(w *world) {
		w.enroll(anna)
		first := read[address](w.post(addressesPath(anna), object{"value": "Ben@example.org", "name": "other"}).is(http.StatusCreated))
		w.unchanged(func() {
			again := w.post(addressesPath(anna), object{"value": "ben@EXAMPLE.org", "name": "renamed"}).is(http.StatusOK)
			require.Equal(w, first, read[address](again), "the address stays as it is")
		})
		w.post(addressesPath(anna), object{"value": "Room"}).is(http.StatusCreated)
		w.post(addressesPath(anna), object{"value": "room"}).is(http.StatusCreated)
		w.enroll("ben@example.org") // Another member may hold the same value.
		w.post(addressesPath("ben@example.org"), object{"value": "Room"}).is(http.StatusCreated)
	}))

	t.Run("AreAssignedOnRequestToThePreferredChannelsOfTheOrganization", both(func(w *world) {
		w.enroll(anna)
		w.post(addressesPath(anna), preferred("work@example.org")).is(http.StatusCreated)
		w.post(addressesPath(anna), object{"value": "private@example.org"}).is(http.StatusCreated)
		customers := w.list(listsPath, "customers")
		w.add(customers, "work@example.org", "private@example.org")
		on := map[string]string{}
		for _, r := range w.recipients(customers) {
			on[r.Address] = r.Channel
		}
		// The first one is assigned to the organization's channel already. The other one is now
		// assigned to the project's.
		require.Equal(w, map[string]string{"work@example.org": "mail", "private@example.org": "shop-mail"}, on)
	}))

	t.Run("AreAssignedOnRequestAlsoWhenTheyAreThereAlready", both(func(w *world) {
		w.enroll(anna)
		w.post(addressesPath(anna), preferred(anna)).is(http.StatusOK)
		customers := w.list(listsPath, "customers")
		w.add(customers, anna)
		require.Equal(w, "mail", w.recipients(customers)[0].Channel)
	}))

	t.Run("MayAskForAPreferredChannelWhereThereIsNone", both(func(w *world) {
		w.post("/api/v1/user/bare/", object{"email": anna}).is(http.StatusCreated)
		w.post("/api/v1/user/bare/"+anna+"/address/", preferred("+4915112345678")).is(http.StatusCreated)
	}))

	t.Run("MissingUserIs404", both(func(w *world) {
		w.get(addressesPath("nobody")).is(http.StatusNotFound)
		w.post(addressesPath("nobody"), object{"value": "x"}).is(http.StatusNotFound)
		w.delete(addressesPath("nobody")+"1/", nil).is(http.StatusNotFound)
	}))
}

func TestDeleteAddress(t *testing.T) {
	t.Parallel()
	const anna = "anna@example.org"

	t.Run("TakesItsAssignmentsListEntriesAndSubscriptionsAlong", both(func(w *world) {
		w.enroll(anna)
		copied := w.subscribePath(webPath, "Copy")
		w.undone(func() {
			a := read[address](w.post(addressesPath(anna), preferred("work@example.org")).is(http.StatusCreated))
			customers := w.list(listsPath, "customers")
			w.add(customers, "work@example.org")
			w.post(copied, object{"assignment": w.recipients(customers)[0].ID}).is(http.StatusCreated)
			w.delete(idPath(addressesPath(anna), a.ID), nil).is(http.StatusOK).json(`{"deleted": 1}`)
			require.Empty(w, w.recipients(customers))
		})
		require.Len(w, read[[]address](w.get(addressesPath(anna))), 1)
	}))

	t.Run("RepeatedIs404", both(func(w *world) {
		w.enroll(anna)
		a := read[address](w.post(addressesPath(anna), object{"value": "x"}))
		w.delete(idPath(addressesPath(anna), a.ID), nil).is(http.StatusOK)
		w.delete(idPath(addressesPath(anna), a.ID), nil).is(http.StatusNotFound)
	}))

	t.Run("OtherMemberIs404", both(func(w *world) {
		w.enroll(anna)
		w.enroll("ben@example.org")
		w.post("/api/v1/user/globex/", object{"email": anna}).is(http.StatusOK)
		w.unchanged(func() {
			for _, holder := range []string{addressesPath("ben@example.org"), "/api/v1/user/globex/" + anna + "/address/"} {
				for _, a := range read[[]address](w.get(holder).is(http.StatusOK)) {
					w.delete(idPath(addressesPath(anna), a.ID), nil).is(http.StatusNotFound)
				}
			}
		})
	}))
}
