package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

var welcomePattern = regexp.MustCompile(`<pre[^>]*>http://[^</]*(/console/welcome/[0-9a-f]{64}/)</pre>`)

// invited returns the path of a user's invitation link, empty when it is refused.
func (f *fixture) invited(by *browser, m users.Member) string {
	f.Helper()
	page := by.post(memberPath(m) + "access/invite/")
	found := welcomePattern.FindStringSubmatch(page.body)
	if page.StatusCode != http.StatusOK {
		assert.Empty(f, found)
		return ""
	}
	require.NotEmpty(f, found, page.body)
	return found[1]
}

// accept sets a password by a link, as a browser that was never here.
func (f *fixture) accept(link, word string) answer {
	f.Helper()
	b := f.nobody()
	page := b.get(link)
	if page.StatusCode != http.StatusOK {
		return page
	}
	return b.submit(link, "password", word, "again", word, "form_token", tokenPattern.FindStringSubmatch(page.body)[1])
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		admin := f.as(f.operator("eva", users.RoleAdministrator))
		m := f.person("acme", "ada", users.RoleMember, false)
		assert.Empty(f, f.invited(admin, m), "without a role there is nothing to sign in for")
		admin.post(memberPath(m)+"access/role/", "role", "operator").is(f.T, http.StatusSeeOther)
		admin.post(memberPath(m)+"access/role/", "role", "king").is(f.T, http.StatusBadRequest)
		assert.Contains(f, admin.get(memberPath(m)+"access/").text(), "The role has not been accepted yet.")

		first := f.invited(admin, m)
		link := f.invited(admin, m)
		f.accept(first, newPassword).is(f.T, http.StatusNotFound)
		assert.NotContains(f, admin.get(memberPath(m)+"access/").body, link, "it is shown once")

		assert.Contains(f, f.nobody().get(link).is(f.T, http.StatusOK).text(), "Company invites ada .")
		b := f.nobody()
		token := tokenPattern.FindStringSubmatch(b.get(link).body)[1]
		assert.Contains(f, b.submit(link, "password", "short", "again", "short", "form_token", token).is(f.T, http.StatusBadRequest).text(), "is shorter than 12 characters")
		assert.NotContains(f, b.submit(link, "password", newPassword, "again", "x", "form_token", token).is(f.T, http.StatusBadRequest).body, newPassword)
		f.nobody().submit(link, "password", newPassword, "again", newPassword).is(f.T, http.StatusForbidden)

		f.accept(link, newPassword).is(f.T, http.StatusSeeOther)
		f.accept(link, newPassword).is(f.T, http.StatusNotFound)
		in := f.nobody()
		in.signIn("ada", newPassword).is(f.T, http.StatusSeeOther)
		in.get("/console/o/acme/u/").is(f.T, http.StatusOK)
		in.get(memberPath(m)+"access/").is(f.T, http.StatusForbidden)

		f.accept(f.invited(admin, m), password).is(f.T, http.StatusSeeOther)
		assert.False(f, in.signedIn(), "another password ends the sessions")
		actions := map[audit.Action]int{}
		for _, e := range f.entries("acme") {
			actions[e.Action]++
			assert.NotContains(f, e.After, link)
		}
		assert.Equal(f, map[audit.Action]int{audit.RoleSet: 1, audit.MemberInvited: 3, audit.MemberAccepted: 2, audit.DeviceAdded: 3}, actions, "whoever sets a password is signed in")
		assert.Equal(f, audit.MemberAccepted, f.entries("acme")[1].Action, "before they are signed in")
		assert.Equal(f, "acme/u/ada", f.entries("acme")[1].Object)
		e := f.entries("")[2]
		assert.Equal(f, audit.PasswordSet, e.Action)
		assert.Equal(f, "ada", e.Actor.Name)
		assert.Equal(f, audit.State{"invited_to": "acme", "sessions_ended": 2.0}, e.After)
	})
}

// TestInvitationSignsIn checks that a user who sets a password by a link is signed in, at the
// inviting organization.
func TestInvitationSignsIn(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		m := f.person("acme", "ada", users.RoleViewer, false)
		link := f.invited(f.as(f.operator("eva", users.RoleAdministrator)), m)
		b := f.nobody()
		token := tokenPattern.FindStringSubmatch(b.get(link).body)[1]
		got := b.submit(link, "password", newPassword, "again", newPassword, "form_token", token).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "/console/o/acme/", got.Header.Get("Location"))
		assert.True(f, b.signedIn())
		b.get("/console/o/acme/").is(f.T, http.StatusOK)
		assert.Equal(f, audit.SignedIn, f.entries("")[0].Action)
	})
}

// TestTeam checks that activity in another organization does not change the page, such as the time
// when a user was last seen.
func TestTeam(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		f.person("globex", "ada", users.RoleViewer, false)
		ada := f.as(f.operator("ada", users.RoleViewer))
		f.person("acme", "zoe", users.RoleOperator, false)
		before := eva.get(atAcme+"team/").is(f.T, http.StatusOK).text()
		assert.Contains(f, before, "ada viewer 2026-03-04 05:06:07 UTC never password active")
		assert.Contains(f, before, "zoe operator not yet never nothing yet active")
		assert.Contains(f, before, "eva administrator 2026-03-04 05:06:07 UTC 2026-03-04 05:06:07 UTC password active")

		ada.get("/console/o/globex/").is(f.T, http.StatusOK)
		assert.Equal(f, before, eva.get(atAcme+"team/").text())
		f.clock.Advance(time.Minute)
		ada.get("/console/o/acme/").is(f.T, http.StatusOK)
		f.clock.Advance(operators.VisitResolution - time.Second)
		ada.get("/console/o/acme/").is(f.T, http.StatusOK)
		assert.Contains(f, eva.get(atAcme+"team/").text(), "ada viewer 2026-03-04 05:06:07 UTC 2026-03-04 05:07:07 UTC password active", "to the hour")
		f.clock.Advance(time.Second)
		ada.get("/console/o/acme/").is(f.T, http.StatusOK)
		assert.Contains(f, eva.get(atAcme+"team/").text(), "ada viewer 2026-03-04 05:06:07 UTC 2026-03-04 06:07:07 UTC password active")
	})
}

func TestInvitationExpiry(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fixture, m users.Member){
		"AfterADay": func(f *fixture, _ users.Member) { f.clock.Advance(operators.InvitationLife) },
		"WhenTheRoleIsTakenAway": func(f *fixture, m users.Member) {
			m.Role = users.RoleMember
			f.update(func(tx ports.Tx) error { return tx.Users().SetRole(f.Context(), m) })
		},
		"WhenTheMembershipEnds": func(f *fixture, m users.Member) {
			f.update(func(tx ports.Tx) error { return tx.Users().Remove(f.Context(), m) })
		},
		"WhenAnAdministratorOfTheInstallationMakesAnotherOne": func(f *fixture, m users.Member) {
			f.invited(f.as(f.account("root", true)), m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(f *fixture) {
				m := f.person("acme", "ada", users.RoleViewer, false)
				link := f.invited(f.as(f.operator("eva", users.RoleAdministrator)), m)
				f.nobody().get(link).is(f.T, http.StatusOK)
				end(f, m)
				f.accept(link, newPassword).is(f.T, http.StatusNotFound)
				f.nobody().signIn("ada", newPassword).is(f.T, http.StatusUnauthorized)
			})
		})
	}
	t.Run("WhenThePasswordChanges", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		m := f.person("acme", "ada", users.RoleViewer, false)
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		f.accept(f.invited(eva, m), newPassword).is(t, http.StatusSeeOther)
		link := f.invited(eva, m)
		in := f.nobody()
		in.signIn("ada", newPassword).is(t, http.StatusSeeOther)
		in.post("/console/account/password/", "current", newPassword, "password", password, "again", password).is(t, http.StatusSeeOther)
		f.accept(link, newPassword).is(t, http.StatusNotFound)
		link = f.invited(eva, m)
		p, err := operators.NewPassword("password", newPassword)
		require.NoError(t, err)
		require.NoError(t, f.use.Administration.SetPassword(t.Context(), audit.Actor{Via: audit.CommandLine}, app.Path{}, "ada", p))
		f.accept(link, password).is(t, http.StatusNotFound)
	})
	t.Run("CannotBeGuessed", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for _, token := range []string{"x", strings.Repeat("0", 64), strings.Repeat("G", 64)} {
			f.nobody().get("/console/welcome/"+token+"/").is(t, http.StatusNotFound)
		}
	})
}
