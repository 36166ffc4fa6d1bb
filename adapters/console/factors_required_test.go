package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// TestSecondFactorRules checks that routes of an organization need the second factor that it
// requires, those of the installation the one that the installation requires, and those for setting
// one up none.
func TestSecondFactorRules(t *testing.T) {
	t.Parallel()
	for _, r := range console.Routes() {
		want := operators.InstallationFactor
		switch {
		case strings.Contains(r.Path, "{org}"):
			want = operators.OrganizationFactor
		case strings.HasPrefix(r.Path, "/console/account/"), strings.HasPrefix(r.Path, "/console/sign-"), strings.HasPrefix(r.Path, "/console/welcome/"),
			strings.HasPrefix(r.Path, "/console/assets/"):
			want = operators.NoFactor
		}
		assert.Equal(t, want, r.Factor, "%s %s", r.Method, r.Path)
	}
}

// requireFactors makes acme and the installation require a second factor.
func (s *scene) requireFactors() {
	s.Helper()
	s.parts.RequireSecondFactor = true
	s.assemble()
	s.serve()
	require.NoError(s, s.use.Factors.Require(s.Context(), audit.Actor{Via: audit.CommandLine}, app.Path{Organization: "acme"}, true))
}

// TestMissingSecondFactorRedirects requests every route as each role that may use it.
func TestMissingSecondFactorRedirects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.requireFactors()
	for _, r := range console.Routes() {
		if r.Factor == operators.NoFactor {
			continue
		}
		for who, may := range allowed[r.Needs] {
			if !may || (r.Factor == operators.InstallationFactor && who != "root") {
				continue
			}
			before := len(s.entries("acme")) + len(s.entries(""))
			got := s.ask(t, r, who).is(t, http.StatusSeeOther)
			assert.True(t, strings.HasPrefix(got.Header.Get("Location"), "/console/account/second-factor/?for="), "%s %s, %s: %s", r.Method, r.Path, who, got.Header.Get("Location"))
			assert.Len(t, append(s.entries("acme"), s.entries("")...), before, "nothing was done")
		}
	}
}

// TestTopBarBeforeSecondFactor checks that the pages that are still allowed do not name what the
// others hide.
func TestTopBarBeforeSecondFactor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	shown := s.as(s.accounts["root"]).get("/console/account/").is(t, http.StatusOK).text()
	require.Contains(t, shown, "Company")
	s.requireFactors()
	assert.NotContains(t, s.as(s.accounts["root"]).get("/console/account/").is(t, http.StatusOK).text(), "Company")
}

func TestRequireSecondFactor(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const acme = "/console/o/acme/"
		f.person("globex", "ada", users.RoleAdministrator, false)
		ada := f.as(f.operator("ada", users.RoleAdministrator))
		bob := f.as(f.operator("bob", users.RoleOperator))
		bob.post(acme+"second-factor/", "on", "true").is(f.T, http.StatusForbidden)
		ada.post(acme+"second-factor/", "on", "perhaps").is(f.T, http.StatusBadRequest)
		ada.post(acme+"second-factor/", "on", "true").is(f.T, http.StatusSeeOther)
		assert.Equal(f, audit.OrganizationUpdated, f.entries("acme")[0].Action)

		got := ada.get(acme).is(f.T, http.StatusSeeOther)
		page := ada.get(got.Header.Get("Location")).is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "requires a second factor. Set one up before you go on.")
		assert.Contains(f, ada.get("/console/").is(f.T, http.StatusOK).text(), "requires a second factor")
		ada.get("/console/o/globex/").is(f.T, http.StatusOK)
		ada.header.Set("Hx-Request", "true")
		got = ada.get(acme).is(f.T, http.StatusUnauthorized)
		assert.Equal(f, "/console/account/second-factor/?for=acme", got.Header.Get("Hx-Redirect"))
		ada.header.Del("Hx-Request")

		ada.setUpApp()
		assert.NotContains(f, ada.get("/console/account/second-factor/").text(), "Set one up before you go on")
		ada.get(acme).is(f.T, http.StatusOK)
		page = ada.post("/console/account/second-factor/app/remove/").is(f.T, http.StatusBadRequest)
		assert.Contains(f, page.text(), "requires a second factor: set up another one before you remove this one")
		bob.get(acme).is(f.T, http.StatusSeeOther)
		bob.get("/console/").is(f.T, http.StatusOK)
		assert.Contains(f, ada.get(acme+"projects/").text(), "Stop requiring it")
		ada.post(acme+"second-factor/", "on", "false").is(f.T, http.StatusSeeOther)
		bob.get(acme).is(f.T, http.StatusOK)
		ada.post("/console/account/second-factor/app/remove/").is(f.T, http.StatusSeeOther)

		k := key()
		bob.make(k, passkeysPath+"confirm/", "")
		ada.setUpApp()
		ada.post(acme+"second-factor/", "on", "true").is(f.T, http.StatusSeeOther)
		bob = f.nobody()
		bob.post("/console/sign-in/passkey/", "passkey", bob.show(k, "/console/sign-in/passkey/ask/")).is(f.T, http.StatusSeeOther)
		bob.get(acme).is(f.T, http.StatusOK)
	})
}
