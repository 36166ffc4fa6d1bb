package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/ports"
)

// userAPIs are the two paths of the user API. Both have the same calls.
var userAPIs = []string{"/api/v1/user/acme/", "/api/o/acme/u/"}

func TestUserAPI(t *testing.T) {
	t.Parallel()

	t.Run("ExistsTwiceWithOneBehaviour", both(func(w *world) {
		// The paths take turns: each reads what the other one wrote, and their answers are the
		// same.
		for i, api := range userAPIs {
			other := userAPIs[1-i]
			email := []string{"anna@example.org", "ben@example.org"}[i]
			made := read[user](w.post(api, object{"email": email, "custom_fields": object{"k": 1}}).is(http.StatusCreated))
			again := read[user](w.post(other, object{"email": email}).is(http.StatusOK))
			require.True(w, made.Created)
			require.False(w, again.Created)
			made.Created = false
			require.Equal(w, made, again)

			same := func(path string) {
				require.Equal(w, string(w.get(api+path).is(http.StatusOK).body), string(w.get(other+path).is(http.StatusOK).body))
			}
			same("")
			same(email + "/")
			same(email + "/address/")
			patched := read[user](w.patch(api+email+"/", object{"custom_fields": object{"l": 2}, "first_name": "Anna"}).is(http.StatusOK))
			require.JSONEq(w, `{"k": 1, "l": 2}`, string(patched.CustomFields))
			same(email + "/")
			room := read[address](w.post(api+email+"/address/", object{"value": "room 5"}).is(http.StatusCreated))
			require.Equal(w, room, read[address](w.post(other+email+"/address/", object{"value": "room 5"}).is(http.StatusOK)))
			w.delete(idPath(api+email+"/address/", room.ID), nil).is(http.StatusOK).json(`{"deleted": 1}`)
			same(email + "/address/")
			w.delete(api+email+"/", nil).is(http.StatusOK).json(`{"deleted": 1}`)
			w.get(other + email + "/").is(http.StatusNotFound)
		}
	}))
}

func TestGetUser(t *testing.T) {
	t.Parallel()

	t.Run("ListsTheMembersByID", both(func(w *world) {
		anna, ben := w.enroll("anna@example.org"), w.enroll("ben@example.org")
		w.post("/api/v1/user/globex/", object{"email": "carl@example.org"}).is(http.StatusCreated)
		anna.Created, ben.Created = false, false
		require.Equal(w, []user{anna, ben}, read[[]user](w.get(usersPath).is(http.StatusOK)))
	}))

	t.Run("SaysTwiceWhetherTheMemberIsLocked", both(func(w *world) {
		w.register("anna")
		w.lockMember("anna")
		anna := read[user](w.get(userPath("anna")).is(http.StatusOK))
		require.True(w, anna.Locked)
		require.False(w, anna.Active)
	}))

	t.Run("FindsAUsernameElseAnEmail", both(func(w *world) {
		w.register("anna", object{"email": "anna@example.org"})
		for _, name := range []string{"anna", "ANNA", "anna@example.org", "Anna@Example.Org"} {
			require.Equal(w, "anna", read[user](w.get(userPath(name)).is(http.StatusOK)).Username)
		}
		w.register("Anna@example.org", object{"email": "other@example.org"})
		require.Equal(w, "other@example.org", read[user](w.get(userPath("anna@example.org")).is(http.StatusOK)).Email)
		w.get(userPath("nobody")).is(http.StatusNotFound)
	}))

	t.Run("AmbiguousEmailIs409NamingTheUsernames", both(func(w *world) {
		w.register("anna", object{"email": "shared@example.org"})
		w.register("ben", object{"email": "Shared@Example.org"})
		w.post("/api/o/globex/p/shop/a/web/register/", object{"username": "carl", "email": "shared@example.org"}).is(http.StatusCreated)
		w.unchanged(func() {
			at := userPath("SHARED@example.org")
			for _, a := range []answer{
				w.get(at), w.patch(at, object{"first_name": "Dora"}), w.get(at + "address/"), w.post(at+"address/", object{"value": "room 5"}), w.delete(idPath(at+"address/", 1), nil),
			} {
				p := read[problem](a.is(http.StatusConflict))
				require.Equal(w, "several members have this e-mail: give one of their usernames: anna, ben", p.Detail)
			}
		})
		require.Equal(w, "anna", read[user](w.get(userPath("anna")).is(http.StatusOK)).Username)
	}))

	t.Run("ShowsTheLock", both(func(w *world) {
		w.enroll("anna@example.org")
		w.lock("anna@example.org")
		require.True(w, read[user](w.get(userPath("anna@example.org"))).Locked)
		require.True(w, read[user](w.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusOK)).Locked)
		require.True(w, read[user](w.patch(userPath("anna@example.org"), object{}).is(http.StatusOK)).Locked)
	}))
}

// lock locks a member of acme, as the console does.
func (w *world) lock(username string) {
	w.Helper()
	w.update(func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(w.Context(), "acme")
		if err != nil {
			return err
		}
		m, err := tx.Users().ByUsername(w.Context(), o.ID, username)
		if err != nil {
			return err
		}
		m.Locked = true
		return tx.Users().SetLocked(w.Context(), m)
	})
}

func TestDeleteUser(t *testing.T) {
	t.Parallel()

	t.Run("EndsTheMembershipWithAllThatHangsOnIt", both(func(w *world) {
		w.undone(func() {
			a := w.assign("anna", "anna@example.org")
			w.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusCreated)
			w.post(webPath+"register/", object{
				"username": "anna", "distribution_list": "web-users", "addresses": list{preferred("anna@example.org")},
			}).is(http.StatusOK)
			w.post(w.subscribePath(webPath, "Copy"), object{"assignment": a.ID}).is(http.StatusCreated)
			w.lockMembership("anna")
			for _, username := range []string{"anna", "anna@example.org"} {
				w.delete(userPath(username), nil).is(http.StatusOK).json(`{"deleted": 1}`)
				w.get(userPath(username)).is(http.StatusNotFound)
			}
			require.Empty(w, w.recipients(w.list(listsPath, "web-users")))
		})
	}))

	t.Run("RepeatedIs404", both(func(w *world) {
		w.enroll("anna@example.org")
		w.delete(userPath("anna@example.org"), nil).is(http.StatusOK)
		w.delete(userPath("anna@example.org"), nil).is(http.StatusNotFound)
	}))

	t.Run("FindsOnlyTheUsername", both(func(w *world) {
		w.register("anna", object{"email": "shared@example.org"})
		w.register("ben", object{"email": "shared@example.org"})
		w.register("shared@example.org", object{"email": "shared@example.org"})
		w.delete(userPath("shared@example.org"), nil).is(http.StatusOK).json(`{"deleted": 1}`)
		w.unchanged(func() {
			w.delete(userPath("shared@example.org"), nil).is(http.StatusNotFound)
			w.post(webPath+"unregister/shared@example.org/", nil).is(http.StatusNotFound)
			w.post(webPath+"unsubscribe/shared@example.org/", nil).is(http.StatusNotFound)
		})
		require.Len(w, read[[]user](w.get(usersPath)), 2)
	}))

	t.Run("LeavesTheIdentityToOtherOrganizations", both(func(w *world) {
		globex := "/api/v1/user/globex/"
		w.post(globex, object{"email": "anna@example.org", "first_name": "Anna", "custom_fields": object{"k": 1}}).is(http.StatusCreated)
		w.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusOK)
		before := w.get(globex + "anna@example.org/")
		w.delete(userPath("anna@example.org"), nil).is(http.StatusOK)
		require.Equal(w, string(before.body), string(w.get(globex+"anna@example.org/").is(http.StatusOK).body))
		require.Len(w, read[[]address](w.get(globex+"anna@example.org/address/")), 1)
		require.False(w, read[user](w.post(usersPath, object{"email": "anna@example.org"}).is(http.StatusOK)).Created)
	}))

	t.Run("LastMembershipEndsTheIdentity", both(func(w *world) {
		w.post(usersPath, object{"email": "anna@example.org", "first_name": "Anna", "custom_fields": object{"k": 1}}).is(http.StatusCreated)
		w.delete(userPath("anna@example.org"), nil).is(http.StatusOK)
		u := w.enroll("anna@example.org")
		assert.True(w, u.Created)
		assert.Empty(w, u.FirstName)
		assert.JSONEq(w, `{}`, string(u.CustomFields))
	}))

	t.Run("LeavesAllOthers", both(func(w *world) {
		w.assign("ben", "ben@example.org")
		customers := w.list(listsPath, "customers")
		w.add(customers, "ben@example.org")
		w.undone(func() {
			w.assign("anna", "anna@example.org")
			w.add(customers, "anna@example.org")
			w.delete(userPath("anna"), nil).is(http.StatusOK)
		})
		require.Len(w, w.recipients(customers), 1)
	}))
}

func TestIdentity(t *testing.T) {
	t.Parallel()

	t.Run("AUsernameNeverChanges", both(func(w *world) {
		before := w.enroll("anna@example.org")
		w.patch(userPath("anna@example.org"), object{"username": "ben"}).is(http.StatusOK)
		w.post(webPath+"register/", object{"username": "ANNA@example.org", "email": "ben@example.org"}).is(http.StatusOK)
		before.Created = false
		require.Equal(w, before, read[user](w.get(userPath("anna@example.org"))))
	}))

	t.Run("UsernamesAreUniqueWithoutRegardToCase", both(func(w *world) {
		w.register("Straße")
		done := read[registered](w.post(webPath+"register/", object{"username": "STRAßE"}).is(http.StatusOK))
		require.Equal(w, "Straße", done.User.Username)
		w.register("İstanbul")
		w.post(webPath+"register/", object{"username": strings.ToLower("İstanbul")}).is(http.StatusOK)
		w.register("strasse") // Lower case, not case folding: ß is no ss.
	}))

	t.Run("EmailsAreNotUnique", both(func(w *world) {
		w.register("anna", object{"email": "shared@example.org"})
		w.register("ben", object{"email": "shared@example.org"})
		require.Len(w, read[[]user](w.get(usersPath)), 2)
	}))

	t.Run("IsGlobalToTheInstallation", both(func(w *world) {
		for i, org := range []string{"acme", "globex", "bare"} {
			want := http.StatusOK
			if i == 0 {
				want = http.StatusCreated
			}
			w.post("/api/v1/user/"+org+"/", object{"email": "anna@example.org"}).is(want)
		}
	}))
}
