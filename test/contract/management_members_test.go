package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/users"
)

const (
	membersOfWeb = webPath + "m/"
	membersPath  = "/api/o/acme/m/"
)

// managedMembership is a membership of an application, as the API shows it.
type managedMembership struct {
	ID         int64  `json:"id"`
	Username   string `json:"username"`
	Email      string `json:"email"`
	Registered bool   `json:"registered"`
	membership
}

// registered returns the usernames in a list of memberships.
func (c client) registered(query string) []string {
	c.t.Helper()
	names := []string{}
	for _, m := range read[[]managedMembership](c.get(membersOfWeb + query).is(http.StatusOK)) {
		names = append(names, m.Username)
	}
	return names
}

func TestManagedMemberships(t *testing.T) {
	t.Parallel()

	t.Run("AreListedForTheApplicationOnly", both(func(w *world) {
		w.register("anna", object{"email": "anna@example.org", "custom_fields": object{"plan": "gold"}})
		w.register("ben", object{"email": "Anna@example.org", "active": false})
		w.enroll("carl@example.org")
		w.lockMembership("carl@example.org")
		w.post("/api/o/acme/p/shop/a/office/register/", object{"username": "dora"}).is(http.StatusCreated)
		w.post("/api/o/globex/p/shop/a/web/register/", object{"username": "anna", "email": "spy@globex.test"}).is(http.StatusOK)
		w.lockMembership("ben")
		m := w.as(w.issue(scope("acme/shop/web"), access.MembershipRead))
		for query, want := range map[string][]string{
			"": {"anna", "ben"}, "?username=ANNA": {"anna"}, "?username=dora": {}, "?email=anna@example.org": {"anna", "ben"},
			"?email=spy@globex.test": {}, "?active=false": {"ben"}, "?active=true": {"anna"}, "?locked=true": {"ben"}, "?locked=false": {"anna"},
			"?enable_notifications=true": {"anna", "ben"}, "?enable_notifications=false": {}, "?locked=true&active=true": {},
		} {
			assert.Equal(w, want, m.registered(query), query)
		}
		anna := read[[]managedMembership](m.get(membersOfWeb))[0]
		assert.Equal(w, read[user](w.get(userPath("anna"))).ID, anna.ID)
		assert.JSONEq(w, `{"plan": "gold"}`, string(anna.CustomFields))
		assert.Equal(w, anna, read[managedMembership](m.get(membersOfWeb+"anna/").is(http.StatusOK)))
		m.get("/api/o/acme/p/shop/a/office/m/").is(http.StatusForbidden)
		m.get(membersPath + "anna/").is(http.StatusForbidden)
		m.get(membersOfWeb + "?locked=1").isBadRequestFor("locked")
		m.get(membersOfWeb + "?q=anna").isBadRequestFor("q")
	}))

	t.Run("AreLockedAndUnlocked", both(func(w *world) {
		w.register("anna")
		m := w.as(w.issue(scope("acme/shop/web"), access.MembershipRead, access.MembershipWrite))
		path := membersOfWeb + "anna/"
		was := read[managedMembership](m.get(path).is(http.StatusOK))
		want := was
		want.Locked = true
		assert.Equal(w, want, read[managedMembership](m.patch(path, object{"locked": true}).is(http.StatusOK)))
		assert.Equal(w, want, read[managedMembership](m.get(path)))
		w.audited("membership.lock", "acme/p/shop/a/web/u/anna")
		assert.Len(w, w.tables()["application_locks"], 1)
		w.unchanged(func() {
			m.patch(path, object{"locked": true}).is(http.StatusOK)
			m.patch(path, object{}).is(http.StatusOK)
			m.patch(path, object{"locked": nil, "enable_notifications": nil}).is(http.StatusOK)
		})
		assert.Equal(w, was, read[managedMembership](m.patch(path, object{"locked": false}).is(http.StatusOK)))
		assert.Empty(w, w.tables()["application_locks"])
	}))

	t.Run("AreSwitched", both(func(w *world) {
		w.register("anna")
		m := w.as(w.issue(scope("acme/shop/web"), access.MembershipWrite))
		path := membersOfWeb + "anna/"
		changed := read[managedMembership](m.patch(path, object{"enable_notifications": false, "locked": true}).is(http.StatusOK))
		assert.Equal(w, []bool{false, true, true}, []bool{changed.EnableNotifications, changed.Locked, changed.Active})
		w.audited("membership.enable_notifications", "acme/p/shop/a/web/u/anna")
		assert.True(w, read[managedMembership](m.patch(path, object{"enable_notifications": true}).is(http.StatusOK)).EnableNotifications)
	}))

	t.Run("UnregisteredHaveAtMostALock", both(func(w *world) {
		w.enroll("carl@example.org")
		m := w.manager()
		path := membersOfWeb + "carl@example.org/"
		assert.False(w, read[managedMembership](m.get(path).is(http.StatusOK)).Registered)
		locked := read[managedMembership](m.patch(path, object{"locked": true}).is(http.StatusOK))
		assert.Equal(w, []bool{false, true}, []bool{locked.Registered, locked.Locked})
		w.unchanged(func() {
			refused := m.patch(path, object{"locked": false, "enable_notifications": false}).is(http.StatusNotFound)
			assert.Equal(w, "user_not_registered", read[problem](refused).Code)
			for _, c := range []string{membersOfWeb, membersPath} {
				assert.Equal(w, "user_not_found", read[problem](m.patch(c+"nobody/", object{"locked": true}).is(http.StatusNotFound)).Code)
				m.get(c + "nobody/").is(http.StatusNotFound)
			}
		})
	}))

	t.Run("ShowNothingElseOfTheUnregistered", both(func(w *world) {
		w.post("/api/o/acme/p/shop/a/office/register/", object{"username": "carl", "email": "carl@private.example.org"}).is(http.StatusCreated)
		m := w.as(w.issue(scope("acme/shop/web"), access.MembershipRead, access.MembershipWrite))
		path := membersOfWeb + "carl/"
		for _, shown := range []answer{m.get(path), m.patch(path, object{"locked": true})} {
			shown.is(http.StatusOK)
			assert.NotContains(w, string(shown.body), "private.example.org")
		}
		w.post(registerPath, object{"username": "carl"}).is(http.StatusOK)
		assert.Equal(w, "carl@private.example.org", read[managedMembership](m.get(path).is(http.StatusOK)).Email)
	}))

	t.Run("LockedInTheOrganization", both(func(w *world) {
		w.enroll("anna@example.org")
		w.post("/api/v1/user/globex/", object{"email": "anna@example.org"})
		m := w.as(w.issue(scope("acme"), access.MembershipRead, access.MembershipWrite))
		path := membersPath + "anna@example.org/"
		id := read[user](w.get(userPath("anna@example.org"))).ID
		want := object{"id": float64(id), "username": "anna@example.org", "locked": true}
		assert.Equal(w, want, read[object](m.patch(path, object{"locked": true}).is(http.StatusOK)))
		assert.Equal(w, want, read[object](m.get(path).is(http.StatusOK)))
		w.audited("member.lock", "acme/u/anna@example.org")
		assert.True(w, read[user](w.get(userPath("anna@example.org"))).Locked)
		assert.False(w, read[user](w.get("/api/v1/user/globex/anna@example.org/")).Locked)
		w.unchanged(func() {
			m.patch(path, object{"locked": true}).is(http.StatusOK)
			m.patch(path, object{"locked": nil}).is(http.StatusOK)
			m.patch(path, object{}).is(http.StatusOK)
		})
		want["locked"] = false
		assert.Equal(w, want, read[object](m.patch(path, object{"locked": false}).is(http.StatusOK)))
	}))

	t.Run("RefuseContradictions", both(func(w *world) {
		w.register("anna")
		m := w.manager()
		w.unchanged(func() {
			for _, path := range []string{membersOfWeb + "anna/", membersPath + "anna/"} {
				m.patch(path, object{"locked": "yes"}).is(http.StatusBadRequest).isBadRequestFor("locked")
				m.patch(path, object{"active": false}).is(http.StatusBadRequest).isBadRequestFor("active")
				m.patch(path, raw(`[]`)).is(http.StatusBadRequest)
			}
			m.patch(membersOfWeb+"anna/", object{"enable_notifications": 1}).isBadRequestFor("enable_notifications")
			m.patch(membersPath+"anna/", object{"enable_notifications": true}).isBadRequestFor("enable_notifications")
		})
	}))

	t.Run("UsersWithARoleAreLeftToPeople", both(func(w *world) {
		w.register("boss@example.org")
		w.appoint(users.RoleAdministrator)
		m := w.manager()
		w.unchanged(func() {
			m.patch(membersPath+"boss@example.org/", object{"locked": true}).is(http.StatusForbidden)
			m.patch(membersOfWeb+"boss@example.org/", object{"locked": true}).is(http.StatusForbidden)
			m.patch(membersOfWeb+"boss@example.org/", object{"enable_notifications": false}).is(http.StatusForbidden)
		})
		m.get(membersOfWeb + "boss@example.org/").is(http.StatusOK)
	}))

	t.Run("AreChangedByNoOtherGrant", both(func(w *world) {
		w.register("anna")
		others := slices.DeleteFunc(access.Grants(), func(g access.Grant) bool { return strings.HasPrefix(string(g), "membership:") })
		c := w.as(w.issue(scope("acme"), others...))
		reader := w.as(w.issue(scope("acme"), access.MembershipRead))
		w.unchanged(func() {
			for _, path := range []string{membersOfWeb + "anna/", membersPath + "anna/"} {
				c.get(path).is(http.StatusForbidden)
				c.patch(path, object{"locked": true}).is(http.StatusForbidden)
				reader.get(path).is(http.StatusOK)
				reader.patch(path, object{"locked": true}).is(http.StatusForbidden)
			}
		})
	}))

	t.Run("ChangeOnlyWhileTheyAreAsTheyWereSeen", both(func(w *world) {
		w.register("anna")
		m := w.manager()
		for _, path := range []string{membersOfWeb + "anna/", membersPath + "anna/"} {
			tag := m.get(path).is(http.StatusOK).header.Get("ETag")
			require.NotEmpty(w, tag)
			changed := m.with("If-Match", tag).patch(path, object{"locked": true}).is(http.StatusOK)
			assert.Equal(w, changed.header.Get("ETag"), m.get(path).header.Get("ETag"))
			w.unchanged(func() { m.with("If-Match", tag).patch(path, object{"locked": false}).is(http.StatusPreconditionFailed) })
		}
	}))
}
