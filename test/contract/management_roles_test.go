package contract_test

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

const (
	rolesPath    = "/api/o/acme/r/"
	bossPassword = "a long sentence that nobody guesses"
)

// managedRole is a user's role in the console, as the API shows it.
type managedRole struct {
	Username string  `json:"username"`
	Role     string  `json:"role"`
	Accepted *string `json:"accepted"`
	Locked   bool    `json:"locked"`
}

// entering signs in as boss@example.org with bossPassword and returns the access level in acme;
// none if the sign-in fails.
func (w *world) entering() operators.AccessLevel {
	w.Helper()
	a, err := w.other.Console.Operators.SignIn(w.Context(), audit.Actor{Via: audit.Console}, operators.Origin{}, "boss@example.org", bossPassword)
	if errors.Is(err, operators.ErrCredentials) {
		return operators.Everyone
	}
	require.NoError(w, err)
	v, err := w.other.Console.Operators.Resume(w.Context(), a.Session)
	require.NoError(w, err)
	return v.Level("acme")
}

func TestManagedRoles(t *testing.T) {
	t.Parallel()

	t.Run("CountOnceTheirHolderHasAcceptedThem", both(func(w *world) {
		w.enroll("boss@example.org")
		m := w.manager()
		path := rolesPath + "boss@example.org/"
		assert.Equal(w, "role_not_found", read[problem](m.get(path).is(http.StatusNotFound)).Code)
		want := managedRole{Username: "boss@example.org", Role: "operator"}
		assert.Equal(w, want, read[managedRole](m.put(path, object{"role": "operator"}).is(http.StatusOK)))
		w.unchanged(func() { m.put(path, object{"role": "operator"}).is(http.StatusOK) })
		w.audited("member.role", "acme/u/boss@example.org")
		assert.Equal(w, []managedRole{want}, read[[]managedRole](m.get(rolesPath).is(http.StatusOK)))
		assert.Equal(w, operators.Everyone, w.entering(), "nobody has accepted it")

		invited := read[struct{ Link, Expires string }](m.post(path+"invite/", nil).is(http.StatusCreated))
		w.audited("member.invite", "acme/u/boss@example.org")
		assert.Equal(w, w.clock.Now().Add(operators.InvitationLife).UTC().Format(time.RFC3339Nano), invited.Expires)
		found := regexp.MustCompile(`^` + regexp.QuoteMeta(w.base+operators.WelcomePath) + `([0-9a-f]{64})/$`).FindStringSubmatch(invited.Link)
		require.Len(w, found, 2, invited.Link)
		chosen, err := operators.NewPassword("password", bossPassword)
		require.NoError(w, err)
		accept := func() error {
			_, err := w.other.Console.Operators.Accept(w.Context(), audit.Actor{Via: audit.Console}, operators.Origin{}, found[1], chosen)
			return err
		}
		require.NoError(w, accept())
		assert.Equal(w, operators.Operator, w.entering())
		require.ErrorIs(w, accept(), operators.ErrInvitation, "it works once")

		raised := read[managedRole](m.put(path, object{"role": "administrator"}).is(http.StatusOK))
		assert.Equal(w, w.clock.Now().UTC().Format(time.RFC3339Nano), *raised.Accepted)
		assert.Equal(w, operators.Administrator, w.entering())
		m.delete(path, nil).json(`{"deleted": 1}`)
		assert.Equal(w, operators.SignedIn, w.entering())
		w.unchanged(func() {
			m.delete(path, nil).is(http.StatusNotFound)
			m.post(path+"invite/", nil).is(http.StatusNotFound)
		})
		m.get(rolesPath).json(`[]`)
	}))

	t.Run("AreNoMoreThanAnOrganizationsAdministratorMayGive", both(func(w *world) {
		w.enroll("boss@example.org")
		path := rolesPath + "boss@example.org/"
		for name, c := range map[string]client{"organization": w.manager(), "installation": w.as(w.issue(scope(""), access.RoleWrite))} {
			w.unchanged(func() {
				for _, role := range []any{"member", "installation", "root", "", nil, 1} {
					c.put(path, object{"role": role}).is(http.StatusBadRequest).isBadRequestFor("role")
				}
				c.put(path, raw(`{"role": "viewer", "administrator": true}`)).isBadRequestFor("administrator")
				assert.Equal(w, "user_not_found", read[problem](c.put(rolesPath+"nobody/", object{"role": "viewer"}).is(http.StatusNotFound)).Code, name)
			})
			c.put(path, object{"role": "administrator"}).is(http.StatusOK)
			c.post(path+"invite/", object{"reset_factors": true}).is(http.StatusCreated)
			for _, row := range w.tables()["invitations"] {
				assert.Regexp(w, `installation="?(0|false)"?`, row, "it is a link of the organization, whichever key made it")
			}
		}
	}))

	t.Run("AreShownForTheOrganizationOnly", both(func(w *world) {
		for _, org := range []string{"acme", "globex"} {
			w.post("/api/v1/user/"+org+"/", object{"email": "boss@example.org"})
		}
		w.put("/api/o/globex/r/boss@example.org/", object{"role": "administrator"}).is(http.StatusOK)
		m := w.manager()
		m.get(rolesPath).json(`[]`)
		w.unchanged(func() {
			m.get(rolesPath + "boss@example.org/").is(http.StatusNotFound)
			m.put("/api/o/globex/r/boss@example.org/", object{"role": "viewer"}).is(http.StatusForbidden)
			m.post("/api/o/globex/r/boss@example.org/invite/", nil).is(http.StatusForbidden)
			m.delete(rolesPath+"boss@example.org/", nil).is(http.StatusNotFound)
		})
	}))

	t.Run("AreChangedByNoOtherGrant", both(func(w *world) {
		w.enroll("boss@example.org")
		w.appoint(users.RoleAdministrator)
		others := slices.DeleteFunc(access.Grants(), func(g access.Grant) bool { return g == access.RoleWrite })
		c := w.as(w.issue(scope("acme"), others...))
		w.unchanged(func() {
			c.put(rolesPath+"boss@example.org/", object{"role": "viewer"}).is(http.StatusForbidden)
			c.delete(rolesPath+"boss@example.org/", nil).is(http.StatusForbidden)
			c.post(rolesPath+"boss@example.org/invite/", nil).is(http.StatusForbidden)
		})
	}))
}
