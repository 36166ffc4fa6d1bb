package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/passkeys"
)

// These tests are about administrators of acme who are after what other organizations of the
// installation give to the same username.

// in returns the path of a member's page in another organization than acme.
func in(org string, m users.Member) string { return strings.Replace(memberPath(m), "acme", org, 1) }

// invitedTo creates an invitation link as an administrator of an organization.
func (f *fixture) invitedTo(org string, by *browser, m users.Member) string {
	f.Helper()
	found := welcomePattern.FindStringSubmatch(by.post(in(org, m)+"access/invite/").is(f.T, http.StatusOK).body)
	require.NotEmpty(f, found)
	return found[1]
}

// signedInAs returns a browser in which a user has signed in with a password.
func (f *fixture) signedInAs(username, word string) *browser {
	f.Helper()
	b := f.nobody()
	b.remote = "198.51.100.7:1"
	f.clock.Advance(signInPause)
	b.signIn(username, word).is(f.T, http.StatusSeeOther)
	return b
}

// signedInByKey returns a browser in which a user has signed in with a passkey.
func (f *fixture) signedInByKey(k *passkeys.Authenticator) *browser {
	f.Helper()
	b := f.nobody()
	b.post("/console/sign-in/passkey/", "passkey", b.show(k, "/console/sign-in/passkey/ask/")).is(f.T, http.StatusSeeOther)
	return b
}

// sees checks which organizations a browser sees.
func (b *browser) sees(orgs ...string) {
	b.f.Helper()
	for _, org := range []string{"acme", "globex", "initech"} {
		status := http.StatusNotFound
		for _, o := range orgs {
			if o == org {
				status = http.StatusOK
			}
		}
		b.get("/console/o/"+org+"/").is(b.f.T, status)
	}
}

func TestAccountMadeInAdvance(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const theirs, bobs, second = "a password of acme's", "the password of bob", "a second one of acme's"
		// acme enrolls a user whom globex searches for later, and sets his password.
		m := f.person("acme", "bob@globex.example", users.RoleViewer, false)
		eva, gil := f.as(f.operator("eva", users.RoleAdministrator)), f.as(f.administrator("globex", "gil"))
		f.accept(f.invited(eva, m), theirs).is(f.T, http.StatusSeeOther)
		attacker := f.signedInAs("bob@globex.example", theirs)
		attacker.sees("acme")

		// globex gives him a role, and nothing stands in the way.
		bob := f.person("globex", "bob@globex.example", users.RoleMember, false)
		gil.post(in("globex", bob)+"access/role/", "role", "administrator").is(f.T, http.StatusSeeOther)
		attacker.sees("acme")
		f.signedInAs("bob@globex.example", theirs).sees("acme")

		// He accepts by globex's link, and has a password that is his.
		link := f.invitedTo("globex", gil, bob)
		f.accept(link, bobs).is(f.T, http.StatusSeeOther)
		owner := f.signedInAs("bob@globex.example", bobs)
		owner.sees("globex")
		f.signedInAs("bob@globex.example", theirs).sees("acme")

		// Another link of acme's sets acme's password and ends acme's sessions, and neither his nor
		// his session.
		f.accept(f.invited(eva, m), second).is(f.T, http.StatusSeeOther)
		assert.False(f, attacker.signedIn())
		owner.sees("globex")
		f.signedInAs("bob@globex.example", second).sees("acme")
		f.signedInAs("bob@globex.example", bobs).sees("globex")
	})
}

func TestPasswordForTwoOrganizations(t *testing.T) {
	t.Parallel()
	const theirs, bobs = "a password of acme's", "the password of bob"
	prepared := func(t *testing.T) (f *fixture, eva, gil, bob *browser, m, there users.Member) {
		t.Helper()
		f = newFixture(t)
		m, there = f.person("acme", "bob", users.RoleViewer, false), f.person("globex", "bob", users.RoleViewer, false)
		eva, gil = f.as(f.operator("eva", users.RoleAdministrator)), f.as(f.administrator("globex", "gil"))
		f.accept(f.invited(eva, m), theirs).is(t, http.StatusSeeOther)
		bob = f.signedInAs("bob", theirs)
		return f, eva, gil, bob, m, there
	}
	t.Run("SignedInUserChoosesAnother", func(t *testing.T) {
		t.Parallel()
		f, _, gil, bob, _, there := prepared(t)
		attacker := f.signedInAs("bob", theirs)
		link := f.invitedTo("globex", gil, there)
		page := bob.get(link).is(t, http.StatusOK)
		assert.Contains(t, page.text(), "Your current password was set through another organization")
		bob.post(link).is(t, http.StatusBadRequest)
		again := bob.post(link, "password", theirs, "again", theirs).is(t, http.StatusBadRequest)
		assert.Contains(t, again.text(), "choose another one")
		bob.post(link, "password", bobs, "again", bobs).is(t, http.StatusSeeOther)
		assert.False(t, bob.signedIn(), "accepting signs out")
		assert.False(t, attacker.signedIn(), "everywhere")
		f.signedInAs("bob", bobs).sees("acme", "globex")
		f.nobody().signIn("bob", theirs).is(t, http.StatusUnauthorized)
	})
	t.Run("FactorsOfTheOthersEnd", func(t *testing.T) {
		t.Parallel()
		f, _, gil, bob, _, there := prepared(t)
		planted := key()
		bob.make(planted, passkeysPath+"confirm/", "planted").is(t, http.StatusOK)
		bob = f.signedInByKey(planted)
		link := f.invitedTo("globex", gil, there)
		assert.Contains(t, bob.get(link).text(), "Passkeys and the app of the account are removed")
		bob.post(link, "password", bobs, "again", bobs).is(t, http.StatusSeeOther)
		f.signedInAs("bob", bobs).sees("acme", "globex")
		stranger := f.nobody()
		stranger.post("/console/sign-in/passkey/", "passkey", stranger.show(planted, "/console/sign-in/passkey/ask/")).is(t, http.StatusUnauthorized)
	})
	t.Run("AccountWithAPasskeyAlone", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		m, there := f.person("acme", "bob", users.RoleViewer, false), f.person("globex", "bob", users.RoleViewer, false)
		eva, gil := f.as(f.operator("eva", users.RoleAdministrator)), f.as(f.administrator("globex", "gil"))
		planted := key()
		f.nobody().join(planted, f.invited(eva, m)).is(t, http.StatusSeeOther)
		bob := f.signedInByKey(planted)
		link := f.invitedTo("globex", gil, there)
		assert.Contains(t, bob.get(link).text(), "so you need a password")
		bob.post(link).is(t, http.StatusBadRequest)
		bob.post(link, "password", bobs, "again", bobs).is(t, http.StatusSeeOther)
		f.signedInAs("bob", bobs).sees("acme", "globex")
	})
	t.Run("LinkOpensOnlyItsOrganization", func(t *testing.T) {
		t.Parallel()
		f, eva, gil, bob, m, there := prepared(t)
		bob.post(f.invitedTo("globex", gil, there), "password", bobs, "again", bobs).is(t, http.StatusSeeOther)
		f.accept(f.invited(eva, m), "a second one of acme's").is(t, http.StatusSeeOther)
		f.signedInAs("bob", "a second one of acme's").sees("acme")
		f.signedInAs("bob", bobs).sees("globex")
	})
	t.Run("NoThirdOrganizationMakesItLookLikeBobsOwn", func(t *testing.T) {
		t.Parallel()
		f, _, gil, attacker, _, there := prepared(t)
		// acme's people have another organization, which has bob accept and choose a password; they
		// do both.
		root := f.as(f.account("root", true))
		root.post("/console/organizations/", "slug", "initech", "name", "Initech").is(t, http.StatusSeeOther)
		third := f.person("initech", "bob", users.RoleViewer, false)
		zoe := f.as(f.account("zoe", false))
		f.person("initech", "zoe", users.RoleAdministrator, false)
		f.acceptsIn("initech", "zoe")
		const laundered = "a laundered password"
		attacker.post(f.invitedTo("initech", zoe, third), "password", laundered, "again", laundered).is(t, http.StatusSeeOther)
		// They give it to bob, who signs in with it and accepts globex's role.
		bob := f.signedInAs("bob", laundered)
		bob.sees("acme", "initech")
		link := f.invitedTo("globex", gil, there)
		bob.post(link).is(t, http.StatusBadRequest)
		bob.post(link, "password", bobs, "again", bobs).is(t, http.StatusSeeOther)
		f.nobody().signIn("bob", laundered).is(t, http.StatusUnauthorized)
	})
	t.Run("ChangingItOneselfDoesNotEither", func(t *testing.T) {
		t.Parallel()
		f, _, gil, attacker, _, there := prepared(t)
		attacker.post("/console/account/password/", "current", theirs, "password", newPassword, "again", newPassword).is(t, http.StatusSeeOther)
		attacker.post(f.invitedTo("globex", gil, there)).is(t, http.StatusBadRequest)
		attacker.sees("acme")
	})
	t.Run("OneOfTheInstallationStays", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.operator("ada", users.RoleViewer) // By the command line, say.
		there := f.person("globex", "ada", users.RoleViewer, false)
		gil := f.as(f.administrator("globex", "gil"))
		ada := f.signedInAs("ada", password)
		link := f.invitedTo("globex", gil, there)
		assert.NotContains(t, ada.get(link).body, `name="password"`)
		ada.post(link).is(t, http.StatusSeeOther)
		in := f.signedInAs("ada", password)
		in.sees("acme", "globex")
		link = f.invitedTo("globex", gil, there)
		assert.Contains(t, in.get(link).text(), "There is nothing to do.")
		in.post(link).is(t, http.StatusBadRequest)
	})
}

func TestInstallationAdministratorIsNotTakenOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.as(f.account("root", true))
	m := f.person("acme", "root", users.RoleViewer, false)
	eva := f.as(f.operator("eva", users.RoleAdministrator))
	f.accept(f.invited(eva, m), newPassword).is(t, http.StatusSeeOther)
	taken := f.signedInAs("root", newPassword)
	taken.sees("acme")
	taken.get("/console/system/").is(t, http.StatusForbidden)
	assert.True(t, root.signedIn())
	root.get("/console/system/").is(t, http.StatusOK)
	f.signedInAs("root", password).get("/console/system/").is(t, http.StatusOK)
}

// TestInvitationTellsNothingAboutPasswords checks that a link opens the account whose password it
// sets, also if the password happens to be that of another account, which has a second factor.
func TestInvitationTellsNothingAboutPasswords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.as(f.account("root", true)).setUpApp()
	m := f.person("acme", "root", users.RoleViewer, false)
	eva := f.as(f.operator("eva", users.RoleAdministrator))
	for _, guess := range []string{newPassword, password} {
		assert.Equal(t, "/console/o/acme/", f.accept(f.invited(eva, m), guess).is(t, http.StatusSeeOther).Header.Get("Location"))
		f.signedInAs("root", guess).sees("acme")
	}
}

func TestPasswordResetForSeveralOrganizations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.person("acme", "ada", users.RoleViewer, false)
	f.person("globex", "ada", users.RoleViewer, false)
	f.account("ada", false) // opens both
	root := f.as(f.account("root", true))
	f.accept(f.invited(root, m), newPassword).is(t, http.StatusSeeOther)
	f.signedInAs("ada", newPassword).sees("acme", "globex")
}

// TestMemberPageRevealsNoOtherOrganization compares every page about a user, and an invitation,
// with and without another organization in which the user has data.
func TestMemberPageRevealsNoOtherOrganization(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`[0-9a-f]{64}`)
	play := func(t *testing.T, meanwhile func(f *fixture)) (seen []string) {
		t.Helper()
		f := newFixture(t)
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		m := f.person("acme", "bob@globex.example", users.RoleMember, false)
		see := func(got answer) answer {
			seen = append(seen, got.Status+secret.ReplaceAllString(got.Header.Get("Location")+got.body, "…"))
			return got
		}
		access := memberPath(m) + "access/"
		look := func() {
			meanwhile(f)
			f.clock.Advance(signInPause)
			for _, path := range []string{access, "/console/o/acme/u/", "/console/o/acme/u/?role=viewer"} {
				see(eva.get(path))
			}
		}
		look()
		see(eva.post(access+"role/", "role", "viewer"))
		look()
		link := welcomePattern.FindStringSubmatch(see(eva.post(access + "invite/")).body)[1]
		see(f.nobody().get(link))
		look()
		see(f.accept(link, "short"))
		see(f.accept(link, newPassword))
		see(f.accept(link, newPassword))
		look()
		b := f.nobody()
		see(b.signIn("bob@globex.example", "not this one"))
		see(b.signIn("bob@globex.example", newPassword))
		see(b.get("/console/"))
		see(b.get("/console/account/"))
		see(b.get("/console/o/globex/"))
		look()
		see(eva.post(access+"role/", "role", "member"))
		look()
		see(b.get("/console/"))
		for _, e := range f.entries("acme") {
			seen = append(seen, strings.Join([]string{string(e.Action), e.Object, e.Actor.Name, e.Actor.Address}, " "))
		}
		return seen
	}
	alone := play(t, func(*fixture) {})
	times := 0
	crowded := play(t, func(f *fixture) {
		if times++; times == 1 {
			f.person("globex", "bob@globex.example", users.RoleAdministrator, false)
			f.accepts("globex", f.accountWithout("bob@globex.example", true))
		}
		b := f.nobody()
		b.remote = fmt.Sprintf("198.51.100.%d:1", times)
		b.signIn("bob@globex.example", password).is(t, http.StatusSeeOther)
		b.get("/console/o/globex/").is(t, http.StatusOK)
		b.post("/console/sign-out/").is(t, http.StatusSeeOther)
	})
	require.Equal(t, len(alone), len(crowded)) //nolint:testifylint // Len would print all pages.
	for i := range alone {
		assert.Equal(t, alone[i], crowded[i])
	}
}

// acceptances returns how many entries of an organization's audit log say that a role was accepted.
func (f *fixture) acceptances(org string) int {
	f.Helper()
	found, err := f.use.Audit.Search(f.Context(), app.Path{Organization: org}, audit.Query{Action: audit.MemberAccepted, Limit: 1000})
	require.NoError(f, err)
	return len(found.Entries)
}

func TestCommandLineRoles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.person("acme", "bob", users.RoleViewer, false)
	f.accept(f.invited(f.as(f.operator("eva", users.RoleAdministrator)), m), newPassword).is(t, http.StatusSeeOther)
	f.person("globex", "bob", users.RoleMember, false)
	by, globex := audit.Actor{Via: audit.CommandLine}, app.Path{Organization: "globex"}
	counts, err := f.use.Administration.SetRole(t.Context(), by, globex, "bob", users.RoleAdministrator)
	require.NoError(t, err)
	assert.False(t, counts)
	f.signedInAs("bob", newPassword).sees("acme")

	p, err := operators.NewPassword("password", "set on the command line")
	require.NoError(t, err)
	require.NoError(t, f.use.Administration.SetPassword(t.Context(), by, globex, "bob", p))
	require.NoError(t, f.use.Administration.SetPassword(t.Context(), by, globex, "bob", p))
	f.signedInAs("bob", "set on the command line").sees("globex")
	f.signedInAs("bob", newPassword).sees("acme")
	require.ErrorIs(t, f.use.Administration.SetPassword(t.Context(), by, app.Path{}, "bob", p), operators.ErrSeveralPasswords)
	counts, err = f.use.Administration.SetRole(t.Context(), by, globex, "bob", users.RoleViewer)
	require.NoError(t, err)
	assert.True(t, counts, "it was accepted with the password")
	assert.Equal(t, 1, f.acceptances("globex"))

	f.person("acme", "ada", users.RoleMember, false)
	require.NoError(t, f.use.Administration.Create(t.Context(), by, "ada", p))
	before := f.acceptances("acme")
	counts, err = f.use.Administration.SetRole(t.Context(), by, app.Path{Organization: "acme"}, "ada", users.RoleMember)
	require.NoError(t, err)
	assert.True(t, counts)
	assert.Equal(t, before, f.acceptances("acme"), "nothing was to be accepted")
	counts, err = f.use.Administration.SetRole(t.Context(), by, app.Path{Organization: "acme"}, "ada", users.RoleViewer)
	require.NoError(t, err)
	assert.True(t, counts, "her password is the installation's")
	assert.Equal(t, before+1, f.acceptances("acme"))
	require.ErrorIs(t, f.use.Administration.Create(t.Context(), by, "ada", p), operators.ErrExists)
	zoe := f.person("acme", "zoe", users.RoleViewer, false)
	f.accept(f.invited(f.as(f.account("root", true)), zoe), newPassword).is(t, http.StatusSeeOther)
	require.NoError(t, f.use.Administration.Create(t.Context(), by, "zoe", p), "by a link of the installation")
	f.signedInAs("zoe", "set on the command line").sees("acme", "globex")
	maxim := f.person("acme", "max", users.RoleViewer, false)
	f.accept(f.invited(f.as(f.operator("ava", users.RoleAdministrator)), maxim), newPassword).is(t, http.StatusSeeOther)
	require.NoError(t, f.use.Administration.Create(t.Context(), by, "max", p), "what organizations made does not hinder")
}
