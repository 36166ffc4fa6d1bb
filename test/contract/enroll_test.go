package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

func TestPostUser(t *testing.T) {
	t.Parallel()

	t.Run("CreatesAUserWhoseUsernameIsTheEmailAsSent", both(func(w *world) {
		a := w.post(usersPath, object{
			"email": "Anna.Lee@Example.ORG", "first_name": "Anna", "last_name": "Lee", "custom_fields": object{"external_id": 4711},
		}).is(http.StatusCreated)
		u := read[user](a)
		require.Positive(w, u.ID)
		require.Equal(w, user{
			ID: u.ID, Username: "Anna.Lee@Example.ORG", Email: "Anna.Lee@Example.ORG", FirstName: "Anna", LastName: "Lee",
			CustomFields: u.CustomFields, Groups: []string{"Default"}, Active: true, Created: true,
		}, u)
		require.JSONEq(w, `{"external_id": 4711}`, string(u.CustomFields))
	}))

	t.Run("NeedsOnlyTheEmail", both(func(w *world) {
		u := w.enroll("anna@example.org")
		require.Empty(w, u.FirstName+u.LastName)
		require.JSONEq(w, `{}`, string(u.CustomFields))
		w.post(usersPath, object{"first_name": "Anna"}).isBadRequestFor("email")
	}))

	t.Run("RefusesInvalidEmails", both(func(w *world) {
		w.unchanged(func() {
			for _, email := range []string{
				"anna", "anna@", "@example.org", "anna@@example.org", "anna example@example.org", "Anna <anna@example.org>",
				"anna@example.org, ben@example.org", "anna@example.org>", "mailto:anna@example.org", "anna@exa mple.org", "anna.@example.org",
				"(comment)anna@example.org", "+4915112345678", "https://example.org",
			} {
				w.post(usersPath, object{"email": email}).isBadRequestFor("email")
			}
		})
	}))

	t.Run("GivesAnAddressNamedEmail", both(func(w *world) {
		w.enroll("Anna@example.org")
		all := read[[]address](w.get(addressesPath("anna@example.org")).is(http.StatusOK))
		require.Equal(w, []address{{ID: all[0].ID, Value: "Anna@example.org", Name: "email", Type: "email"}}, all)
	}))

	t.Run("LinksToTheDefaultGroup", both(func(w *world) {
		require.Equal(w, []string{"Default"}, w.enroll("anna@example.org").Groups)
	}))

	t.Run("RepeatedIs200AndChangesNothing", both(func(w *world) {
		first := read[user](w.post(usersPath, object{"email": "anna@example.org", "first_name": "Anna", "custom_fields": object{"k": 1}}).is(http.StatusCreated))
		w.unchanged(func() {
			for _, again := range []object{
				{"email": "anna@example.org"},
				{"email": "ANNA@Example.org"},
				{"email": "anna@example.org", "first_name": "Bettina", "last_name": "Lee", "custom_fields": object{"k": 2, "l": 3}},
			} {
				u := read[user](w.post(usersPath, again).is(http.StatusOK))
				require.False(w, u.Created)
				u.Created = true
				require.Equal(w, first, u)
			}
		})
	}))

	t.Run("FindsTheUsernameWithoutRegardToCaseByNFCAndLowerCase", both(func(w *world) {
		composed, decomposed := "ÄNNE@example.org", "a\u0308nne@example.org"
		w.enroll(composed)
		u := read[user](w.post(usersPath, object{"email": decomposed}).is(http.StatusOK))
		require.Equal(w, composed, u.Username)
		require.Len(w, read[[]address](w.get(addressesPath(composed))), 1)
	}))

	t.Run("EnrollsAUserOfAnotherOrganizationWithTheNamesSent", both(func(w *world) {
		w.post("/api/v1/user/globex/", object{"email": "Anna@example.org", "first_name": "Anna", "custom_fields": object{"of": "globex"}}).is(http.StatusCreated)
		u := read[user](w.post(usersPath, object{"email": "anna@example.org", "first_name": "Bettina", "custom_fields": object{"of": "acme"}}).is(http.StatusOK))
		require.False(w, u.Created)
		require.Equal(w, []string{"anna@example.org", "anna@example.org", "Bettina", ""}, []string{u.Username, u.Email, u.FirstName, u.LastName})
		require.JSONEq(w, `{"of": "acme"}`, string(u.CustomFields), "custom_fields count when this call creates the membership")
		require.Equal(w, []string{"Default"}, u.Groups)
		require.Len(w, read[[]address](w.get(addressesPath("anna@example.org"))), 1)
	}))

	t.Run("ElseFindsAMemberOfThisOrganizationWithThatEmail", both(func(w *world) {
		w.register("anna", object{"email": "Anna@example.org", "first_name": "Anna"})
		u := read[user](w.post(usersPath, object{"email": "anna@example.org", "first_name": "Bettina", "custom_fields": object{"k": 1}}).is(http.StatusOK))
		require.Equal(w, []string{"anna", "Anna@example.org", "Anna"}, []string{u.Username, u.Email, u.FirstName})
		require.JSONEq(w, `{}`, string(u.CustomFields), "the membership was there already")
	}))

	t.Run("AmbiguousEmailTakesTheFirst", both(func(w *world) {
		w.register("anna", object{"email": "shared@example.org"})
		w.register("ben", object{"email": "shared@example.org"})
		require.Equal(w, "anna", read[user](w.post(usersPath, object{"email": "shared@example.org"}).is(http.StatusOK)).Username)
	}))

	t.Run("TheUsernameComesBeforeTheEmail", both(func(w *world) {
		w.register("anna", object{"email": "shared@example.org"})
		w.register("shared@example.org", object{"email": "other@example.org"})
		require.Equal(w, "other@example.org", read[user](w.post(usersPath, object{"email": "shared@example.org"}).is(http.StatusOK)).Email)
	}))

	t.Run("AnEmailOfAnotherOrganizationsMemberIsNoMatch", both(func(w *world) {
		w.post("/api/o/globex/p/shop/a/web/register/", object{"username": "anna", "email": "anna@example.org"}).is(http.StatusCreated)
		u := w.enroll("anna@example.org")
		require.Equal(w, "anna@example.org", u.Username)
	}))

	t.Run("AddsWhateverIsMissing", both(func(w *world) {
		// Register creates the member, but links it to no group, and creates only the addresses
		// that were sent.
		w.register("anna@example.org")
		require.Empty(w, read[user](w.get(userPath("anna@example.org"))).Groups)
		u := read[user](w.post(usersPath, object{"email": "anna@example.org", "custom_fields": object{"k": 1}}).is(http.StatusOK))
		require.Equal(w, []string{"Default"}, u.Groups)
		require.JSONEq(w, `{}`, string(u.CustomFields))
		addresses := read[[]address](w.get(addressesPath("anna@example.org")))
		require.Len(w, addresses, 1)
		require.Equal(w, "email", addresses[0].Name)

		w.delete(idPath(addressesPath("anna@example.org"), addresses[0].ID), nil).is(http.StatusOK)
		w.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusOK)
		require.Len(w, read[[]address](w.get(addressesPath("anna@example.org"))), 1)
	}))

	t.Run("LeavesAnAddressWithThatValueAsItIs", both(func(w *world) {
		w.register("anna@example.org", object{"addresses": list{object{"value": "ANNA@example.org", "name": "private"}}})
		w.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusOK)
		all := read[[]address](w.get(addressesPath("anna@example.org")))
		require.Len(w, all, 1)
		require.Equal(w, "private", all[0].Name)
	}))

	t.Run("GroupsAreShown", both(func(w *world) {
		staff := w.groupOf("acme", "Staff")
		w.enrollAll(users.Batch{Enrollments: []users.Enrollment{{Details: users.Details{Email: "anna@example.org"}}}, Group: staff})
		require.ElementsMatch(w, []string{"Default", "Staff"}, read[user](w.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusOK)).Groups)
	}))
}

// enrollAll enrolls a batch in acme as the use cases do.
func (w *world) enrollAll(b users.Batch) {
	w.Helper()
	require.NoError(w, w.store.Update(w.Context(), func(tx ports.Tx) error {
		_, err := app.Enroll(w.Context(), tx, "acme", b)
		return err
	}))
}

func (w *world) groupOf(org, name string) (id orgs.GroupID) {
	w.Helper()
	require.NoError(w, w.store.View(w.Context(), func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(w.Context(), org)
		if err != nil {
			return err
		}
		g, err := tx.Orgs().Group(w.Context(), o.ID, name)
		id = g.ID
		return err
	}))
	return id
}
