package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

var welcomePattern = regexp.MustCompile(`<pre[^>]*>http://[^</]*(/console/welcome/[0-9a-f]{64}/)</pre>`)

// invited is the path of the link that somebody is given, empty when it is refused.
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
		assert.Contains(f, admin.get(memberPath(m)+"access/").said(), "This user cannot sign in yet.")

		first := f.invited(admin, m)
		link := f.invited(admin, m)
		f.accept(first, newPassword).is(f.T, http.StatusNotFound)
		assert.NotContains(f, admin.get(memberPath(m)+"access/").body, link, "it is shown once")

		assert.Contains(f, f.nobody().get(link).is(f.T, http.StatusOK).said(), "This link is for ada , invited to Company .")
		b := f.nobody()
		token := tokenPattern.FindStringSubmatch(b.get(link).body)[1]
		assert.Contains(f, b.submit(link, "password", "short", "again", "short", "form_token", token).is(f.T, http.StatusBadRequest).said(), "is shorter than 12 characters")
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
		assert.Equal(f, map[audit.Action]int{audit.RoleSet: 1, audit.MemberInvited: 3}, actions)
		e := f.entries("")[0]
		assert.Equal(f, audit.PasswordSet, e.Action)
		assert.Equal(f, "ada", e.Actor.Name)
		assert.Equal(f, audit.State{"invited_to": "acme", "sessions_ended": 1.0}, e.After)
	})
}

func TestInvitationsEnd(t *testing.T) {
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
		"WhenTheUserGetsARoleInAnotherOrganization":        func(f *fixture, _ users.Member) { f.person("globex", "ada", users.RoleViewer, false) },
		"WhenTheUserGetsOneThereAndIsLocked":               func(f *fixture, _ users.Member) { f.person("globex", "ada", users.RoleViewer, true) },
		"WhenTheUserBecomesAdministratorOfTheInstallation": func(f *fixture, _ users.Member) { f.account("ada", true) },
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
	t.Run("NotWhenTheUserMerelyJoinsAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(f *fixture) {
			m := f.person("acme", "ada", users.RoleViewer, false)
			eva := f.as(f.operator("eva", users.RoleAdministrator))
			link := f.invited(eva, m)
			theirs := f.person("globex", "ada", users.RoleMember, false)
			assert.NotContains(f, eva.get(memberPath(m)+"access/").said(), "Only an administrator of the installation")
			f.accept(link, newPassword).is(f.T, http.StatusSeeOther)
			f.accept(f.invited(eva, m), password).is(f.T, http.StatusSeeOther)

			// But an account that acme made gets nothing from globex: acme's administrators may know its password.
			gil := f.as(f.boss("globex", "gil"))
			access := strings.Replace(memberPath(theirs), "acme", "globex", 1) + "access/"
			gil.post(access+"role/", "role", "viewer").is(f.T, http.StatusForbidden)
			gil.post(access+"invite/").is(f.T, http.StatusBadRequest)
			assert.Contains(f, gil.get(access).said(), "The account was made by another organization")
		})
	})
	t.Run("OfTwoOrganizationsThatGiveARoleNeitherInvites", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		m, theirs := f.person("acme", "ada", users.RoleMember, false), f.person("globex", "ada", users.RoleMember, false)
		eva, gil := f.as(f.operator("eva", users.RoleAdministrator)), f.as(f.boss("globex", "gil"))
		access := strings.Replace(memberPath(theirs), "acme", "globex", 1) + "access/"
		gil.post(access+"role/", "role", "viewer").is(t, http.StatusSeeOther)
		assert.Contains(t, gil.post(access+"invite/").is(t, http.StatusOK).body, "/console/welcome/")
		eva.post(memberPath(m)+"access/role/", "role", "viewer").is(t, http.StatusSeeOther) // Nobody has set a password so far.
		assert.Empty(t, f.invited(eva, m))
		gil.post(access+"invite/").is(t, http.StatusForbidden)
		gil.post(access+"role/", "role", "member").is(t, http.StatusSeeOther)
		assert.NotEmpty(t, f.invited(eva, m), "once nothing of theirs would be opened")
	})
	t.Run("NobodyGuessesOne", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for _, token := range []string{"x", strings.Repeat("0", 64), strings.Repeat("G", 64)} {
			f.nobody().get("/console/welcome/"+token+"/").is(t, http.StatusNotFound)
		}
	})
}

// TestNoOrganizationTakesOverAnAccount is about administrators of an organization who try to get at what their organization does not own.
func TestNoOrganizationTakesOverAnAccount(t *testing.T) {
	t.Parallel()
	t.Run("ThatBelongsToAnotherOne", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.person("globex", "ada", users.RoleAdministrator, false)
		f.account("ada", false)
		m := f.person("acme", "ada", users.RoleViewer, false) // Enrolling somebody is all that it takes.
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		assert.Empty(t, f.invited(eva, m))
		assert.Contains(t, eva.get(memberPath(m)+"access/").said(), "Only an administrator of the installation may have a password set for it.")
		root := f.as(f.account("root", true))
		f.accept(f.invited(root, m), newPassword).is(t, http.StatusSeeOther)
	})
	t.Run("OfAnAdministratorOfTheInstallation", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.account("root", true)
		m := f.person("acme", "root", users.RoleViewer, false)
		assert.Empty(t, f.invited(f.as(f.operator("eva", users.RoleAdministrator)), m))
		assert.Empty(t, f.invited(f.as(f.operator("oz", users.RoleOperator)), m))
	})
	t.Run("ByMakingItBeforeItsOwnerComes", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		// acme makes an account for somebody whom globex is going to look for, and lets the identity go.
		m := f.person("acme", "boss@globex.example", users.RoleViewer, false)
		f.accept(f.invited(f.as(f.operator("eva", users.RoleAdministrator)), m), newPassword).is(t, http.StatusSeeOther)
		f.update(func(tx ports.Tx) error { return tx.Users().Remove(f.Context(), m) })

		theirs := f.person("globex", "boss@globex.example", users.RoleMember, false)
		gil := f.as(f.boss("globex", "gil"))
		access := strings.Replace(memberPath(theirs), "acme", "globex", 1) + "access/"
		gil.post(access+"role/", "role", "administrator").is(t, http.StatusForbidden)
		assert.Contains(t, gil.get(access).said(), "The account was made by another organization")

		// The installation's administrator gives the account to its owner; then globex may do as it likes.
		root := f.as(f.account("root", true))
		root.post(access+"role/", "role", "viewer").is(t, http.StatusSeeOther)
		page := root.post(access+"invite/").is(t, http.StatusOK)
		f.accept(welcomePattern.FindStringSubmatch(page.body)[1], "the owner's own password").is(t, http.StatusSeeOther)
		gil.post(access+"role/", "role", "administrator").is(t, http.StatusSeeOther)
	})
	t.Run("ButWhatItMadeItMayReset", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		m := f.person("acme", "ada", users.RoleAdministrator, false)
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		f.accept(f.invited(eva, m), newPassword).is(t, http.StatusSeeOther)
		f.accept(f.invited(eva, m), password).is(t, http.StatusSeeOther)
		eva.post(memberPath(m)+"access/role/", "role", "viewer").is(t, http.StatusSeeOther)
		eva.post(memberPath(m)+"access/role/", "role", "operator").is(t, http.StatusSeeOther)
	})
}
