package console_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/console"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// mailing creates a channel of the installation, as tocsin apply does.
func (f *fixture) mailing() {
	f.Helper()
	_, err := f.cli.Provisioning.Apply(f.Context(), operators.Editor{Actor: audit.Actor{Name: "root", Via: audit.CommandLine}, Level: operators.Installation},
		app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "Company", Channels: []app.BlueprintChannel{
			{Name: "system", Protocol: "EMAIL", Driver: "smtp", Active: true, Settings: channels.Settings{"host": "mail.internal"}}}}}}, false)
	require.NoError(f, err)
	f.parts.SystemMail = app.SystemMailSettings{Through: app.ChannelName{Organization: "acme", Channel: "system"}, Drivers: delivery.Drivers{f.post}, Timeout: time.Minute}
	f.assemble()
	f.options.BaseURL = "http://notify.example"
	f.serve()
}

var mailedLink = regexp.MustCompile(`http://notify\.example(/console/welcome/[0-9a-f]{64}/)`)

func TestMailInvitation(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.mailing()
		m := f.person("acme", "ada", users.RoleViewer, false)
		f.person("globex", "ada", users.RoleViewer, false)
		f.update(func(tx ports.Tx) error { // What others record, or an application adds, is not where it goes.
			other, err := tx.Users().ByUsername(f.Context(), m.Organization+1, "ada")
			if err != nil {
				return err
			}
			other.Email = "ada@elsewhere.example"
			return tx.Users().SaveDetails(f.Context(), other)
		})
		eva := f.as(f.operator("eva", users.RoleAdministrator))
		access := memberPath(m) + "access/"
		assert.Contains(f, eva.get(access).text(), "To ada@example.org. If not selected, you get the link to send yourself.")

		page := eva.post(access+"invite/", "mail", "true").is(f.T, http.StatusOK)
		assert.Contains(f, page.text(), "Mailed to ada@example.org .")
		assert.NotContains(f, page.body, operators.WelcomePath, "whoever invites does not get the link")
		require.Len(f, f.post.messages(), 1)
		sent := f.post.messages()[0]
		assert.Equal(f, "ada@example.org", sent.To)
		assert.Equal(f, "Invitation to Company", sent.Subject)
		assert.Contains(f, sent.Text, "eva invites you to Company.")
		link := mailedLink.FindStringSubmatch(sent.Text)
		require.NotNil(f, link, sent.Text)
		f.accept(link[1], newPassword).is(f.T, http.StatusSeeOther)
		f.accept(link[1], newPassword).is(f.T, http.StatusNotFound)

		var mailed []audit.Entry
		for _, e := range f.entries("acme") {
			if e.Action == audit.MemberMailed {
				mailed = append(mailed, e)
			}
		}
		require.Len(f, mailed, 1)
		assert.Equal(f, audit.State{"to": "ada@example.org", "accepted": true}, mailed[0].After)
		assert.Equal(f, "eva", mailed[0].Actor.Name)

		assert.Contains(f, eva.post(access+"invite/").is(f.T, http.StatusOK).text(), "Send this link to ada securely.", "only on demand")
		assert.Len(f, f.post.messages(), 1)
	})
}

// TestInstallationMailsInvitation checks that an invitation that an administrator of the
// installation mails leaves the accounts of other organizations alone: it goes to an address that
// the organization has recorded.
func TestInstallationMailsInvitation(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.mailing()
		m := f.person("acme", "ada", users.RoleViewer, false)
		f.person("globex", "ada", users.RoleViewer, false)
		f.accepts("globex", f.accountWithout("ada", false))
		f.as(f.account("root", true)).post(memberPath(m)+"access/invite/", "mail", "true").is(f.T, http.StatusOK)
		require.Len(f, f.post.messages(), 1)
		link := mailedLink.FindStringSubmatch(f.post.messages()[0].Text)
		require.NotNil(f, link)
		f.accept(link[1], newPassword).is(f.T, http.StatusSeeOther)
		f.signedInAs("ada", newPassword).sees("acme")
		f.signedInAs("ada", password).sees("globex")
	})
}

// TestInvitationLanguage is about the language of invitations: the one of the invited user is
// unknown.
func TestInvitationLanguage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mailing()
	m := f.person("acme", "ada", users.RoleViewer, false)
	eva := f.as(f.operator("eva", users.RoleAdministrator))
	eva.header.Set("Accept-Language", "de")
	eva.post(memberPath(m)+"access/invite/", "mail", "true").is(t, http.StatusOK)
	assert.Equal(t, "Einladung zu Company", f.post.messages()[0].Subject)
	assert.Contains(t, f.post.messages()[0].Text, "eva lädt Sie zu Company ein.")
}

func TestMailFailureShowsLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(f *fixture)
		why    string
	}{
		"TheServerRefusesTheAddress": {func(f *fixture) { f.post.fails(&deliveries.Failure{Err: errors.New("550 no such user")}) },
			"the mail server does not accept mail for ada@example.org"},
		"TheDriverRefusesTheMessage": {func(f *fixture) { f.post.fails(deliveries.Unsendable("the address is invalid")) },
			"the driver refused the message to ada@example.org before anything was sent"},
		"TheServerIsAway": {func(f *fixture) {
			f.post.fails(&deliveries.Failure{Err: errors.New("no connection"), Detail: errors.New("to 10.1.2.3"), Temporary: true, Channel: true})
		}, "the channel of this installation does not work"},
		"TheChannelIsGone": {func(f *fixture) {
			require.NoError(f, f.use.Channels.Delete(f.Context(), audit.Actor{Name: "root"}, app.Path{Organization: "acme"}, f.channel(app.Path{Organization: "acme"}, "system").ID))
		}, "the channel of this installation does not work"},
		"AlreadyLinkedToAnotherAccount": {func(f *fixture) {
			require.NoError(f, f.use.Channels.Patch(f.Context(), operators.Editor{Level: operators.Administrator}, app.Path{Organization: "acme"},
				f.channel(app.Path{Organization: "acme"}, "system").ID, func(c *app.ChannelForm) { c.Changes = map[string]any{"host": "mail.attacker.example"} }))
		}, "the channel of this installation does not work"},
		"ItIsInactive": {func(f *fixture) {
			require.NoError(f, f.use.Channels.Patch(f.Context(), operators.Editor{Level: operators.Installation}, app.Path{Organization: "acme"},
				f.channel(app.Path{Organization: "acme"}, "system").ID, func(c *app.ChannelForm) { c.Active = false }))
		}, "the channel of this installation does not work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.mailing()
			m := f.person("acme", "ada", users.RoleViewer, false)
			eva := f.as(f.operator("eva", users.RoleAdministrator))
			assert.Contains(t, eva.post(memberPath(m)+"access/invite/", "mail", "true").text(), "Mailed to ada@example.org")
			c.before(f)
			page := eva.post(memberPath(m)+"access/invite/", "mail", "true").is(t, http.StatusOK)
			assert.Contains(t, page.text(), "Could not be mailed: "+c.why+". Send this link yourself.")
			assert.NotContains(t, page.body, "10.1.2.3")
			found := welcomePattern.FindStringSubmatch(page.body)
			require.NotNil(t, found)
			f.nobody().get(found[1]).is(t, http.StatusOK)
		})
	}
}

func TestInvitationWithoutMail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := f.person("acme", "ada", users.RoleViewer, false)
	eva := f.as(f.operator("eva", users.RoleAdministrator))
	assert.NotContains(t, eva.get(memberPath(m)+"access/").body, `name="mail"`)
	assert.Contains(t, eva.post(memberPath(m)+"access/invite/", "mail", "true").text(), "Send this link to ada securely.")
	f.mailing()
	f.update(func(tx ports.Tx) error {
		m.Email = ""
		return tx.Users().SaveDetails(f.Context(), m)
	})
	assert.NotContains(t, eva.get(memberPath(m)+"access/").body, `name="mail"`)
	assert.Contains(t, eva.post(memberPath(m)+"access/invite/", "mail", "true").text(), "Could not be mailed: this organization has no e-mail address for this user.")
	assert.Empty(t, f.post.messages())
}

// TestInvitationMailsAreLimited checks that invitations cannot fill a mailbox.
func TestInvitationMailsAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mailing()
	m := f.person("acme", "ada", users.RoleViewer, false)
	eva := f.as(f.operator("eva", users.RoleAdministrator))
	invite := func() string { return eva.post(memberPath(m)+"access/invite/", "mail", "true").text() }
	for range 3 {
		assert.Contains(t, invite(), "Mailed to")
	}
	assert.Contains(t, invite(), "Could not be mailed: too many invitations were mailed in the last minutes. Send this link yourself.")
	f.clock.Advance(9 * time.Minute)
	assert.Contains(t, invite(), "Could not be mailed")
	other := f.person("acme", "bob", users.RoleViewer, false)
	assert.Contains(t, eva.post(memberPath(other)+"access/invite/", "mail", "true").text(), "Mailed to bob@example.org")
}

func TestAcceptInvitationWithPasskey(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		m := f.person("acme", "ada", users.RoleViewer, false)
		link := f.invited(f.as(f.operator("eva", users.RoleAdministrator)), m)
		f.update(func(tx ports.Tx) error {
			o, err := tx.Orgs().BySlug(f.Context(), "acme")
			if err != nil {
				return err
			}
			return tx.Orgs().RequireFactor(f.Context(), o.ID, true)
		})
		b, k := f.nobody(), key()
		assert.Contains(f, b.get(link).text(), "Use a passkey instead")
		got := b.join(k, link).is(f.T, http.StatusSeeOther)
		assert.Equal(f, "/console/o/acme/", got.Header.Get("Location"))
		b.get("/console/o/acme/").is(f.T, http.StatusOK) // A passkey is the second factor that the organization requires.
		b.get(link).is(f.T, http.StatusNotFound)
		f.nobody().post(link+"passkey/").is(f.T, http.StatusNotFound)

		redisplay := f.nobody()
		redisplay.post("/console/sign-in/passkey/", "passkey", redisplay.show(k, "/console/sign-in/passkey/ask/")).is(f.T, http.StatusSeeOther)
		account := redisplay.get("/console/account/").text()
		assert.Contains(f, account, "This account has no password.")
		assert.NotContains(f, account, "Current password")
		id := passkeyPattern.FindStringSubmatch(redisplay.get("/console/account/second-factor/").body)[1]
		assert.Contains(f, redisplay.post(passkeysPath+id+"/remove/").is(f.T, http.StatusBadRequest).text(), "this passkey is the only way to sign in")
		var actions []audit.Action
		for _, e := range f.entries("acme") {
			actions = append(actions, e.Action)
		}
		assert.Subset(f, actions, []audit.Action{audit.MemberInvited, audit.MemberAccepted, audit.FactorAdded, audit.DeviceAdded})
	})
}

// TestInvitationPasskeyKeepsFactors is about the creator of a link, who could use it: a passkey
// would open the account without its other factors.
func TestInvitationPasskeyKeepsFactors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.as(f.operator("eva", users.RoleAdministrator))
	m := f.person("acme", "ada", users.RoleViewer, false)
	first := key()
	f.nobody().join(first, f.invited(admin, m)).is(t, http.StatusSeeOther)

	link := f.invited(admin, m)
	assert.Contains(t, f.nobody().post(link+"passkey/").is(t, http.StatusBadRequest).text(), "This account has a second factor already")
	b := f.nobody()
	b.signIn("ada", newPassword).is(t, http.StatusUnauthorized)

	page := admin.post(memberPath(m)+"access/invite/", "reset", "true").is(t, http.StatusOK)
	second := key()
	b.join(second, welcomePattern.FindStringSubmatch(page.body)[1]).is(t, http.StatusSeeOther)
	stranger := f.nobody()
	stranger.post("/console/sign-in/passkey/", "passkey", stranger.show(first, "/console/sign-in/passkey/ask/")).is(t, http.StatusUnauthorized)
	stranger.post("/console/sign-in/passkey/", "passkey", stranger.show(second, "/console/sign-in/passkey/ask/")).is(t, http.StatusSeeOther)
}

// TestPasskeyReplacesPassword checks that the replaced password and the earlier sessions are no
// longer valid.
func TestPasskeyReplacesPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.as(f.operator("eva", users.RoleAdministrator))
	m := f.person("acme", "ada", users.RoleViewer, false)
	f.accept(f.invited(admin, m), newPassword).is(t, http.StatusSeeOther)
	in := f.nobody()
	in.signIn("ada", newPassword).is(t, http.StatusSeeOther)
	f.nobody().join(key(), f.invited(admin, m)).is(t, http.StatusSeeOther)
	assert.False(t, in.signedIn())
	f.nobody().signIn("ada", newPassword).is(t, http.StatusUnauthorized)
}

// TestPasskeyIsBoundToItsLink checks that an answer is only valid for the account of its request.
func TestPasskeyIsBoundToItsLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *console.Options) { o.BodyLimit = 1 << 20 })
	admin := f.as(f.operator("eva", users.RoleAdministrator))
	ada, bob := f.person("acme", "ada", users.RoleViewer, false), f.person("acme", "bob", users.RoleViewer, false)
	f.accept(f.invited(admin, ada), newPassword).is(t, http.StatusSeeOther)
	b := f.nobody()
	page := b.post(f.invited(admin, ada)+"passkey/").is(t, http.StatusOK)
	filter := strings.ReplaceAll(optionsPattern.FindStringSubmatch(page.body)[1], "&#34;", `"`)
	got := b.post(f.invited(admin, bob)+"passkey/confirm/", "step", stepPattern.FindStringSubmatch(page.body)[1], "passkey", string(key().Create(f, []byte(filter))))
	assert.Contains(t, got.is(t, http.StatusBadRequest).text(), factors.ErrStep.Error()[1:])
}
