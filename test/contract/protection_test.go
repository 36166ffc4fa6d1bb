package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// appoint gives boss@example.org a role in acme's console.
func (w *world) appoint(role users.Role) {
	w.Helper()
	w.inShop("boss@example.org", func(tx ports.Tx, _ orgs.Project, m users.Member) error {
		m.Role = role
		return tx.Users().SetRole(w.Context(), m)
	})
}

// member adds a user to acme and returns the id.
func (w *world) member(email string) users.MemberID {
	w.Helper()
	return users.MemberID(read[user](w.post(usersPath, object{"email": email}).is(http.StatusCreated)).ID)
}

func TestKeysAndWhoHasAConsoleRole(t *testing.T) {
	t.Parallel()

	t.Run("NoKeyChangesOrRemovesThem", both(func(w *world) {
		w.post(usersPath, object{"email": "boss@example.org", "first_name": "Bo"}).is(http.StatusCreated)
		phone := read[address](w.post(addressesPath("boss@example.org"), object{"value": "+4915112345678"}).is(http.StatusCreated))
		for _, role := range []users.Role{users.RoleViewer, users.RoleOperator, users.RoleAdministrator} {
			w.appoint(role)
			for name, c := range map[string]client{
				"root": w.client, "organization": w.as(w.issue(scope("acme"), access.UserWrite)), "full": w.as(w.issue(scope("acme"), access.FullAccess)),
			} {
				w.unchanged(func() {
					for _, a := range []answer{
						c.delete(userPath("boss@example.org"), nil),
						c.patch(userPath("boss@example.org"), object{"first_name": "Eve"}),
						c.patch(userPath("boss@example.org"), object{"custom_fields": object{"a": 1}}),
						c.post(addressesPath("boss@example.org"), object{"value": "eve@example.net", "assign_to_preferred_channel": true}),
						c.delete(idPath(addressesPath("boss@example.org"), phone.ID), nil),
					} {
						require.Contains(w, read[problem](a.is(http.StatusForbidden)).Detail, "console role", name)
					}
				})
			}
		}
		w.appoint(users.RoleMember)
		w.delete(userPath("boss@example.org"), nil).is(http.StatusOK)
	}))

	t.Run("NoKeyLocksOrGroupsThem", both(func(w *world) {
		ann, boss := w.member("ann@example.org"), w.member("boss@example.org")
		m := w.manager()
		group := idPath("/api/o/acme/g/", read[named](m.post("/api/o/acme/g/", object{"name": "Board"}).is(http.StatusCreated)).ID)
		const why = "boss@example.org may not be changed: the user has a console role in this organization; only the console and the command line may change or remove them"
		for _, role := range []users.Role{users.RoleViewer, users.RoleAdministrator} {
			w.appoint(role)
			w.unchanged(func() {
				for _, a := range []answer{
					m.patch(membersPath+"boss@example.org/", object{"locked": true}),
					m.patch(membersOfWeb+"boss@example.org/", object{"locked": true}),
				} {
					p := read[problem](a.is(http.StatusForbidden))
					require.Equal(w, []string{"user_protected", "username", why}, []string{p.Code, p.Param, p.Detail})
				}
				for _, call := range []string{"add/", "remove/"} {
					p := read[problem](m.post(group+call, object{"users": list{ann, boss}}).is(http.StatusForbidden))
					require.Equal(w, []string{"user_protected", "users[1]", why}, []string{p.Code, p.Param, p.Detail})
				}
			})
		}
	}))

	t.Run("SomeCallsAddWhatTheyLack", both(func(w *world) {
		const boss, bo = "boss@example.org", "bo@example.org"
		values := func() (all []string) {
			for _, a := range read[[]address](w.get(addressesPath(boss)).is(http.StatusOK)) {
				all = append(all, a.Value)
			}
			return all
		}
		w.post(registerPath, object{"username": boss, "email": bo, "first_name": "Bo"}).is(http.StatusCreated)
		w.appoint(users.RoleAdministrator)
		want := read[user](w.get(userPath(boss)).is(http.StatusOK))
		require.Empty(w, want.Groups)
		require.Empty(w, values())

		w.post(usersPath, object{"email": boss, "first_name": "Eve", "custom_fields": object{"a": 1}}).is(http.StatusOK)
		require.Equal(w, []string{boss}, values())
		w.post(usersPath+"bulk/", object{"users": list{object{"email": bo, "first_name": "Eve"}}}).is(http.StatusOK)
		require.ElementsMatch(w, []string{boss, bo}, values())
		want.Groups = []string{"Default"}
		require.Equal(w, want, read[user](w.get(userPath(boss)).is(http.StatusOK)), "nothing else has changed")
		l := w.list(listsPath, "customers")
		w.add(l, bo)
		require.Equal(w, "shop-mail", w.recipients(l)[0].Channel, "the address had no channel")
	}))

	t.Run("ReadValuesCanBePostedAgain", both(func(w *world) {
		w.post(usersPath, object{"email": "boss@example.org", "first_name": "Bo"}).is(http.StatusCreated)
		w.appoint(users.RoleAdministrator)
		w.unchanged(func() {
			w.post(usersPath, object{"email": "boss@example.org", "first_name": "Eve", "custom_fields": object{"a": 1}}).is(http.StatusOK)
			w.get(userPath("boss@example.org")).is(http.StatusOK)
			w.get(addressesPath("boss@example.org")).is(http.StatusOK)
		})
	}))

	t.Run("RoleElsewhereProtectsNobody", both(func(w *world) {
		w.post(usersPath, object{"email": "boss@example.org"}).is(http.StatusCreated)
		w.post("/api/v1/user/globex/", object{"email": "boss@example.org"}).is(http.StatusOK)
		w.appoint(users.RoleAdministrator)
		w.patch("/api/v1/user/globex/boss@example.org/", object{"custom_fields": object{"a": 1}}).is(http.StatusOK)
		w.delete("/api/v1/user/globex/boss@example.org/", nil).is(http.StatusOK)
	}))
}
