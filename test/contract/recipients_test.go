package contract_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
)

func TestAddRecipients(t *testing.T) {
	t.Parallel()
	const anna, ben = "anna@example.org", "ben@example.org"
	addTo := func(l distributionList) string { return idPath(listsPath, l.ID) + "add/" }

	t.Run("AnswersWithTheAddressesNewlyAddedInTheOrderOfTheCall", both(func(w *world) {
		w.enroll(anna)
		w.enroll(ben)
		l := w.list(listsPath, "customers")
		w.post(addTo(l), list{ben, anna}).is(http.StatusOK).json(`{"added": ["ben@example.org", "anna@example.org"]}`)
		w.post(addTo(l), list{anna, ben}).is(http.StatusOK).json(`{"added": []}`)
		w.enroll("carl@example.org")
		w.post(addTo(l), list{anna, "carl@example.org", ben}).is(http.StatusOK).json(`{"added": ["carl@example.org"]}`)
	}))

	t.Run("MembersAreListedWithTheIDAndActiveOfTheirAssignment", both(func(w *world) {
		a := w.assign("anna", anna)
		l := w.list(listsPath, "customers")
		w.add(l, anna)
		require.Equal(w, []recipient{{ID: a.ID, Address: anna, User: "anna", Channel: "shop-mail", Active: true}}, w.recipients(l))
		w.get(l.Members).is(http.StatusOK).json(fmt.Sprintf(
			`[{"id": %d, "address": "anna@example.org", "user": "anna", "channel": "shop-mail", "active": true}]`, a.ID))
	}))

	t.Run("MembersOfAnyNameAreListedInTheOrderOfTheirIDs", both(func(w *world) {
		const zoe, digits = "zoë@exämple.org", "12.3@4.example.org"
		first, second := w.assign("1 2 3", digits), w.assign("Zoë Ω", zoe)
		l := w.list(listsPath, "customers")
		w.add(l, zoe, digits)
		require.Equal(w, []recipient{
			{ID: first.ID, Address: digits, User: "1 2 3", Channel: "shop-mail", Active: true},
			{ID: second.ID, Address: zoe, User: "Zoë Ω", Channel: "shop-mail", Active: true},
		}, w.recipients(l))
	}))

	t.Run("DuplicatesCountOnceWithoutRegardToCase", both(func(w *world) {
		w.enroll(anna)
		l := w.list(listsPath, "customers")
		require.Equal(w, []string{"ANNA@example.org"}, w.add(l, "ANNA@example.org", anna, anna))
		require.Len(w, w.recipients(l), 1)
	}))

	t.Run("InvalidAddressesAre400NamingEveryOffenderAndNothingIsAdded", both(func(w *world) {
		w.enroll(anna)
		l := w.list(listsPath, "customers")
		w.unchanged(func() {
			w.post(addTo(l), list{anna, "nothing", "", "a@b@c", "Anna <anna@example.org>", "+4915112345678"}).isBadRequestFor("[1]", "[2]", "[3]", "[4]", "[5]")
		})
	}))

	t.Run("AddressesNotRecordedInTheOrganizationAre400NamingEveryOffenderAndNothingIsAdded", both(func(w *world) {
		w.enroll(anna)
		w.post("/api/v1/user/globex/", object{"email": ben}).is(http.StatusCreated)
		l := w.list(listsPath, "customers")
		w.unchanged(func() {
			a := w.post(addTo(l), list{ben, anna, "carl@example.org", ben})
			a.isBadRequestFor("[0]", "[2]")
			require.Equal(w, "unknown_recipient [0]", read[problem](a).Code+" "+read[problem](a).Param)
			require.Contains(w, a.errors()["[0]"][0], ben)
			require.Contains(w, a.errors()["[2]"][0], "carl@example.org")
		})
		many := make(list, 300)
		offenders := make([]string, len(many))
		for i := range many {
			many[i], offenders[i] = fmt.Sprintf("nobody%d@example.org", i), fmt.Sprintf("[%d]", i)
		}
		w.unchanged(func() { w.post(addTo(l), many).isBadRequestFor(offenders...) })
	}))

	t.Run("TakesBetween1And10000Addresses", both(func(w *world) {
		w.enroll(anna)
		l := w.list(listsPath, "customers")
		many := make(list, 10_001)
		for i := range many {
			many[i] = anna
		}
		w.unchanged(func() {
			w.post(addTo(l), list{}).isBadRequestFor("body")
			w.post(addTo(l), many).isBadRequestFor("body")
		})
		w.post(addTo(l), many[:10_000]).is(http.StatusOK).json(`{"added": ["anna@example.org"]}`)
	}))

	t.Run("AddsEveryMemberWithTheAddress", both(func(w *world) {
		w.register("anna", object{"addresses": list{preferred("Shared@example.org")}})
		w.register("ben", object{"addresses": list{object{"value": "shared@example.org"}}})
		l := w.list(listsPath, "customers")
		require.Equal(w, []string{"shared@example.org"}, w.add(l, "shared@example.org"))
		var who []string
		for _, r := range w.recipients(l) {
			who = append(who, r.User+" "+r.Address)
		}
		require.ElementsMatch(w, []string{"anna Shared@example.org", "ben shared@example.org"}, who)
	}))

	t.Run("AddsTheAssignmentsToTheProjectsEmailChannels", both(func(w *world) {
		// Anna's address is assigned to channels of the organization, of this project and of
		// another one.
		w.enroll(anna)
		w.post(addressesPath(anna), preferred(anna)).is(http.StatusOK)
		w.post(webPath+"register/", object{"username": anna, "addresses": list{preferred(anna)}}).is(http.StatusOK)
		l := w.list(listsPath, "customers")
		w.add(l, anna)
		require.Equal(w, []string{"shop-mail"}, channelsOf(w.recipients(l)))
	}))

	t.Run("ElseTheAssignmentsToTheOrganizationsEmailChannels", both(func(w *world) {
		w.enroll(anna)
		w.post(addressesPath(anna), preferred(anna)).is(http.StatusOK)
		l := w.list(listsPath, "customers")
		w.add(l, anna)
		require.Equal(w, []string{"mail"}, channelsOf(w.recipients(l)))
	}))

	t.Run("AddsAssignmentsAsTheyAre", both(func(w *world) {
		w.enroll(anna)
		id := w.assignUnvalidated(anna, "post")
		l := w.list(listsPath, "customers")
		require.Equal(w, []string{anna}, w.add(l, anna))
		require.Equal(w, []recipient{{ID: id, Address: anna, User: anna, Channel: "post"}}, w.recipients(l))
		require.Empty(w, w.rows(`SELECT id FROM assignments WHERE validated OR active`))
	}))

	t.Run("AddsEveryAssignmentOfTheAddress", both(func(w *world) {
		w.assign("anna", anna)
		w.prefer("shop-mail-2")
		done := read[registered](w.post(webPath+"register/", object{"username": "anna", "addresses": list{preferred(anna)}}).is(http.StatusOK))
		require.Equal(w, "shop-mail-2", done.Assignments[0].Channel)
		l := w.list(listsPath, "customers")
		require.Equal(w, []string{anna}, w.add(l, anna))
		require.ElementsMatch(w, []string{"shop-mail", "shop-mail-2"}, channelsOf(w.recipients(l)))
	}))

	t.Run("ElseCreatesAnAssignmentToThePreferredEmailChannel", both(func(w *world) {
		w.enroll(anna)
		l, blog := w.list(listsPath, "customers"), w.list("/api/o/acme/p/blog/d/", "customers")
		w.add(l, anna)
		require.Equal(w, []string{"shop-mail"}, channelsOf(w.recipients(l)))
		// blog does not use the assignment to shop's channel, and its own preferred channel is not
		// active.
		w.post(idPath("/api/o/acme/p/blog/d/", blog.ID)+"add/", list{anna}).is(http.StatusOK)
		require.Equal(w, []string{"mail"}, channelsOf(w.recipients(blog)))
		// It is validated, as after a registration.
		for _, row := range w.tables()["assignments"] {
			require.Regexp(w, `validated="(1|true)"`, row)
		}
	}))

	t.Run("WithoutAnyEmailChannelIs400AndNothingIsAdded", both(func(w *world) {
		w.post("/api/v1/user/bare/", object{"email": anna}).is(http.StatusCreated)
		l := w.list("/api/o/bare/p/shop/d/", "customers")
		w.unchanged(func() { w.post(idPath("/api/o/bare/p/shop/d/", l.ID)+"add/", list{anna}).isBadRequestFor("body") })
	}))

	t.Run("MayAddToAPinnedList", both(func(w *world) {
		w.enroll(anna)
		require.Equal(w, []string{anna}, w.add(w.list(listsPath, "web-users"), anna))
	}))
}

func channelsOf(all []recipient) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Channel
	}
	return names
}

// prefer gives acme/shop another e-mail channel and makes it the preferred one.
func (w *world) prefer(name string) {
	w.Helper()
	w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Projects: []app.BlueprintProject{{
		Slug: "shop", Name: "Shop", Channels: []app.BlueprintChannel{mail("shop-mail", false), mail(name, true)},
	}}}}})
}
