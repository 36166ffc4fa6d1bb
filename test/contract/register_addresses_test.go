package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/ports"
)

func TestRegisterAddresses(t *testing.T) {
	t.Parallel()
	values := func(all []address) []string {
		var values []string
		for _, a := range all {
			values = append(values, a.Value)
		}
		return values
	}
	reached := func(all []assignment) []string {
		var pairs []string
		for _, a := range all {
			pairs = append(pairs, a.Address+" "+a.Channel+" "+a.Protocol)
		}
		return pairs
	}

	t.Run("DeriveTheTypeAndDefaultTheName", both(func(w *world) {
		done := w.register("anna", object{"addresses": list{
			object{"value": "anna@example.org"}, object{"value": "+49 1511 2345678"}, object{"value": "https://example.org"},
			object{"value": "@anna"}, object{"value": "room 5", "name": "desk"},
		}})
		require.Equal(w, []address{
			{Value: "anna@example.org", Name: "email", Type: "email"}, {Value: "+4915112345678", Name: "phone", Type: "phone"},
			{Value: "https://example.org", Name: "url", Type: "url"}, {Value: "@anna", Name: "generic", Type: "generic"},
			{Value: "room 5", Name: "desk", Type: "generic"},
		}, done.Addresses)
		require.Empty(w, done.Assignments)
		require.Empty(w, done.Skipped, "none asked for a channel")
		require.ElementsMatch(w, values(done.Addresses), values(read[[]address](w.get(addressesPath("anna")))))
	}))

	t.Run("AreAnsweredInTheOrderOfThePayloadNewOrNot", both(func(w *world) {
		w.register("anna", object{"addresses": list{object{"value": "c"}, preferred("b@example.org")}})
		done := read[registered](w.post(registerPath, object{"username": "anna", "addresses": list{
			preferred("z@example.org"), object{"value": "c", "name": "renamed"}, preferred("+4915112345678"), preferred("B@example.org"), object{"value": "a"},
		}}).is(http.StatusOK))
		require.Equal(w, []string{"z@example.org", "c", "+4915112345678", "b@example.org", "a"}, values(done.Addresses))
		require.Equal(w, "generic", done.Addresses[1].Name, "an address that is there stays as it is")
		require.Equal(w, []string{"z@example.org shop-mail EMAIL", "+4915112345678 text SMS", "b@example.org shop-mail EMAIL"}, reached(done.Assignments))
	}))

	t.Run("SpeakOfThisPayloadOnly", both(func(w *world) {
		w.register("anna", object{"addresses": list{preferred("old@example.org")}})
		done := read[registered](w.post(registerPath, object{"username": "anna", "addresses": list{preferred("new@example.org")}}).is(http.StatusOK))
		require.Equal(w, []string{"new@example.org"}, values(done.Addresses))
		require.Equal(w, []string{"new@example.org shop-mail EMAIL"}, reached(done.Assignments))
		require.Len(w, read[[]address](w.get(addressesPath("anna"))), 2)
	}))

	t.Run("RepeatedInOnePayloadCountOnce", both(func(w *world) {
		done := w.register("anna", object{"distribution_list": "customers", "addresses": list{
			object{"value": "Anna@example.org", "name": "first"}, object{"value": "+49 1511 2345678"},
			object{"value": "anna@EXAMPLE.org", "name": "second", "assign_to_preferred_channel": true}, object{"value": "+4915112345678"},
		}})
		require.Equal(w, []address{
			{Value: "Anna@example.org", Name: "first", Type: "email"}, {Value: "+4915112345678", Name: "phone", Type: "phone"},
		}, done.Addresses)
		require.Equal(w, []string{"Anna@example.org shop-mail EMAIL"}, reached(done.Assignments))
		require.Equal(w, 1, done.List.RecipientsAdded)
	}))

	t.Run("AreAssignedToEveryPreferredChannelOfACompatibleProtocol", both(func(w *world) {
		done := w.register("anna", object{"addresses": list{
			preferred("anna@example.org"), preferred("+4915112345678"), preferred("https://example.org"), preferred("@anna"),
		}})
		require.ElementsMatch(w, []string{
			"anna@example.org shop-mail EMAIL", // The project's, before the organization's.
			"+4915112345678 text SMS", "https://example.org hook WEBHOOK", "@anna chat SLACK", "@anna log PLAINTEXT",
		}, reached(done.Assignments))
		require.Empty(w, done.Skipped)
	}))

	t.Run("FallBackToTheOrganizationWhereTheProjectsPreferredChannelIsNotActive", both(func(w *world) {
		a := w.post("/api/o/acme/p/blog/a/web/register/", object{"username": "anna", "addresses": list{preferred("anna@example.org")}})
		require.Equal(w, []string{"anna@example.org mail EMAIL"}, reached(read[registered](a).Assignments))
	}))

	t.Run("AreAssignedToPreferredChannelsOnly", both(func(w *world) {
		w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "bare", Name: "Bare", Channels: []app.BlueprintChannel{mail("mail", false)}}}})
		a := w.post("/api/o/bare/p/shop/a/web/register/", object{"username": "anna", "addresses": list{preferred("anna@example.org")}})
		require.Empty(w, read[registered](a).Assignments)
	}))

	t.Run("SkippedWithoutPreferredChannel", both(func(w *world) {
		a := w.post("/api/o/bare/p/shop/a/web/register/", object{"username": "anna", "distribution_list": "customers", "addresses": list{
			preferred("@anna"), object{"value": "room 5"}, preferred("+49 1511 2345678"),
		}}).is(http.StatusCreated)
		done := read[registered](a)
		require.Equal(w, []string{"@anna", "+4915112345678"}, done.Skipped)
		require.Equal(w, []string{"@anna", "room 5", "+4915112345678"}, values(done.Addresses))
		require.Empty(w, done.Assignments)
		require.Equal(w, 0, done.List.RecipientsAdded)
	}))

	t.Run("CarryAssignmentIDsThatCanBeSubscribed", both(func(w *world) {
		a := w.assign("anna", "anna@example.org")
		w.post(w.subscribePath(webPath, "Copy"), object{"assignment": a.ID}).is(http.StatusCreated)
	}))

	t.Run("CreateValidatedAssignments", both(func(w *world) {
		w.assign("anna", "anna@example.org")
		require.Len(w, w.rows(`SELECT id FROM assignments WHERE validated AND active`), 1)
	}))

	t.Run("NeverRevalidateAnExistingAssignment", both(func(w *world) {
		w.enroll("anna@example.org")
		id := w.assignUnvalidated("anna@example.org", "shop-mail")
		payload := object{"username": "anna@example.org", "addresses": list{preferred("anna@example.org")}, "distribution_list": "customers"}
		done := read[registered](w.post(registerPath, payload).is(http.StatusOK))
		require.Equal(w, id, done.Assignments[0].ID)
		require.Empty(w, w.rows(`SELECT id FROM assignments WHERE validated OR active`))
		require.False(w, w.recipients(w.list(listsPath, "customers"))[0].Active)
	}))

	t.Run("AreAtMost100", both(func(w *world) {
		many := make(list, 101)
		for i := range many {
			many[i] = object{"value": fmt.Sprintf("room %d", i)}
		}
		w.unchanged(func() {
			w.post(registerPath, object{"username": "anna", "addresses": many}).isBadRequestFor("addresses")
		})
		require.Len(w, w.register("anna", object{"addresses": many[:100]}).Addresses, 100)
	}))

	t.Run("BelongToTheMemberOfThisOrganizationOnly", both(func(w *world) {
		w.register("anna", object{"addresses": list{object{"value": "room 5"}}})
		w.post("/api/o/globex/p/shop/a/web/register/", object{"username": "anna"}).is(http.StatusOK)
		w.get("/api/v1/user/globex/anna/address/").is(http.StatusOK).json(`[]`)
	}))
}

func TestRegisterList(t *testing.T) {
	t.Parallel()

	t.Run("IsFoundByNameWithoutRegardToCaseAndShownAsItIsSpelled", both(func(w *world) {
		require.Equal(w, "customers", w.register("anna", object{"distribution_list": "CUSTOMERS"}).List.Name)
	}))

	t.Run("GetsEveryAssignmentOfTheAnswerUnlessPresent", both(func(w *world) {
		w.assign("anna", "old@example.org")
		payload := object{"username": "anna", "distribution_list": "customers", "addresses": list{preferred("new@example.org"), preferred("@anna")}}
		done := read[registered](w.post(registerPath, payload).is(http.StatusOK))
		require.Equal(w, 3, done.List.RecipientsAdded)
		var want []int64
		for _, a := range done.Assignments {
			want = append(want, a.ID)
		}
		var got []int64
		for _, r := range w.recipients(w.list(listsPath, "customers")) {
			got = append(got, r.ID)
		}
		require.ElementsMatch(w, want, got)
		payload["addresses"] = list{preferred("new@example.org"), preferred("old@example.org")}
		done = read[registered](w.post(registerPath, payload).is(http.StatusOK))
		require.Equal(w, 1, done.List.RecipientsAdded, "one was not new, but not on the list")
	}))

	t.Run("MayBePinnedToThisApplication", both(func(w *world) {
		done := w.register("anna", object{"distribution_list": "web-users", "addresses": list{preferred("anna@example.org")}})
		require.Equal(w, 1, done.List.RecipientsAdded)
	}))

	t.Run("IsNullWhenNoneWasNamed", both(func(w *world) {
		require.Nil(w, w.register("anna", object{"addresses": list{preferred("anna@example.org")}}).List)
	}))
}

// TestRegisterIsAllOrNothing sends payloads with a single error.
func TestRegisterIsAllOrNothing(t *testing.T) {
	t.Parallel()
	good := func() object {
		return object{
			"username": "anna", "first_name": "Anna", "email": "anna@example.org", "custom_fields": object{"k": 1}, "active": false,
			"addresses": list{preferred("anna@example.org"), preferred("+4915112345678")}, "distribution_list": "customers",
		}
	}
	type spoiled struct {
		member string
		value  any
		blamed string
	}
	cases := map[string]spoiled{
		"UnknownListIs400":                    {"distribution_list", "nothing", "distribution_list"},
		"ListOfAnotherProjectIs400":           {"distribution_list", "blog-only", "distribution_list"},
		"ListPinnedToAnotherApplicationIs400": {"distribution_list", "office-users", "distribution_list"},
		"ListPinnedToAnotherInOtherCaseIs400": {"distribution_list", "OFFICE-USERS", "distribution_list"},
		"BadEmailIs400":                       {"email", "nothing", "email"},
		"BadUsernameIs400":                    {"username", "", "username"},
		"BadAddressAmongGoodOnesIs400":        {"addresses", list{preferred("ben@example.org"), object{"value": ""}}, "addresses[1].value"},
		"AddressMustBeAnObject":               {"addresses", list{preferred("ben@example.org"), "x"}, "addresses[1]"},
		"ActiveMustBeABoolean":                {"active", "yes", "active"},
		"MetadataMustBeAnObject":              {"custom_fields", list{}, "custom_fields"},
		"TooLargeMetadataIs400":               {"custom_fields", object{"big": strings.Repeat("x", 64<<10)}, "custom_fields"},
	}
	t.Run("Spoiled", both(func(w *world) {
		w.post("/api/o/acme/p/blog/d/", object{"name": "blog-only"}).is(http.StatusCreated)
		w.register("existing", object{"custom_fields": object{"there": 1}})
		each(cases, func(w *world, c spoiled) {
			w.unchanged(func() {
				for _, username := range []string{"anna", "existing"} {
					payload := good()
					payload["username"] = username
					payload[c.member] = c.value
					w.post(registerPath, payload).isBadRequestFor(c.blamed)
				}
			})
		})(w)
		w.post(registerPath, good()).is(http.StatusCreated) // The rest was good indeed.
	}))

	t.Run("TooLargeMergedMetadataIs400", both(func(w *world) {
		half := strings.Repeat("x", 40<<10)
		w.register("anna", object{"custom_fields": object{"one": half}})
		payload := good()
		payload["custom_fields"] = object{"two": half}
		w.unchanged(func() { w.post(registerPath, payload).isBadRequestFor("custom_fields") })
	}))

	t.Run("MissingTenantIs404", both(func(w *world) {
		w.unchanged(func() {
			for _, path := range []string{"/api/o/nowhere/p/shop/a/web/", "/api/o/acme/p/nowhere/a/web/", "/api/o/acme/p/shop/a/nowhere/"} {
				w.post(path+"register/", good()).is(http.StatusNotFound)
			}
		})
	}))
}

// assignUnvalidated assigns the one address of a member of acme to a channel of acme/shop, neither
// validated nor active.
func (w *world) assignUnvalidated(username, channel string) (id int64) {
	w.Helper()
	ctx := w.Context()
	w.update(func(tx ports.Tx) error {
		project, err := tx.Orgs().Project(ctx, "acme", "shop")
		if err != nil {
			return err
		}
		c, err := tx.Channels().Find(ctx, project.Organization, project.ID, channel)
		if err != nil {
			return err
		}
		m, err := tx.Users().ByUsername(ctx, project.Organization, username)
		if err != nil {
			return err
		}
		all, err := tx.Addresses().List(ctx, project.Organization, m.ID, 0, 1)
		if err != nil {
			return err
		}
		a := channels.Assign(all[0], c)
		a.Validated, a.Active = false, false
		made, _, err := tx.Assignments().Ensure(ctx, project.Organization, []channels.Assignment{a})
		if err == nil {
			id = int64(made[0].ID)
		}
		return err
	})
	return id
}
