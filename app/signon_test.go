package app_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// says is a provider with an answer that the test sets.
type says struct {
	signon.Identity
	fault error
}

func (s *says) Begin(_ context.Context, w signon.AuthRequest) (address string, held []byte, err error) {
	return w.State, nil, s.fault
}

func (s *says) Finish(context.Context, signon.AuthRequest, []byte, string, string) (signon.Identity, error) {
	return s.Identity, s.fault
}

func (s *says) Logout(_ context.Context, token string) (l signon.Logout, err error) {
	err = json.Unmarshal([]byte(token), &l)
	return l, err
}

func (s *says) EndSessionURL(context.Context, string) (string, error) { return "", s.fault }

// signOnFixture is an installation with single sign-on and two organizations.
type signOnFixture struct {
	*signInFixture
	says   *says
	signOn *app.SingleSignOn
	admin  *app.Administration
}

var mapping = signon.Mapping{{Group: "staff", Organization: "acme", Role: users.RoleViewer}, {Group: "boss", Organization: "acme", Role: users.RoleAdministrator},
	{Group: "it"}, {Group: "staff", Organization: "nowhere", Role: users.RoleViewer}}

func newSignOnFixture(t *testing.T, m signon.Mapping, p operators.Policy) *signOnFixture {
	t.Helper()
	h := &signOnFixture{signInFixture: newSignInFixture(t), says: &says{}}
	p.Issuer = "https://id.example"
	h.operators = app.NewOperators(h.store, h.clock, p)
	h.signOn = app.NewSingleSignOn(h.operators, h.says, app.SignOnSettings{Mapping: m})
	h.admin = app.NewAdministration(h.store, h.clock)
	for _, slug := range []string{"acme", "globex"} {
		_, err := app.NewOrgs(h.store, nil).Create(t.Context(), h.by, slug, slug)
		require.NoError(t, err)
	}
	return h
}

// comes signs a user in with these groups.
func (h *signOnFixture) comes(subject, username string, groups ...string) (app.SignInResult, error) {
	h.Helper()
	h.says.Identity = signon.Identity{Subject: signon.Subject{Issuer: "https://id.example", ID: subject}, Username: username, Groups: groups,
		Details: users.Details{Email: username + "@example.org", FirstName: "First"}, Authenticated: h.clock.Now()}
	d, err := h.signOn.Begin(h.Context(), operators.Principal{}, "back", "next", "")
	require.NoError(h, err)
	a, err := h.signOn.Finish(h.Context(), h.by, h.from, app.SignOnCallback{Step: d.Step, State: d.Address, Code: "c"})
	return a.SignInResult, err
}

// comesAgain confirms the identity of a session's holder, who has these groups now.
func (h *signOnFixture) comesAgain(session string, groups ...string) error {
	h.Helper()
	v := h.principal(session)
	form, err := h.signOn.SavePendingForm(h.Context(), v, app.PendingForm{Path: "/"})
	require.NoError(h, err)
	d, err := h.signOn.Begin(h.Context(), v, "back", "next", form)
	require.NoError(h, err)
	h.clock.Advance(time.Second)
	h.says.Groups, h.says.Authenticated = groups, h.clock.Now()
	_, err = h.signOn.Finish(h.Context(), h.by, h.from, app.SignOnCallback{Step: d.Step, Session: session, State: d.Address, Code: "c"})
	return err
}

// roles returns what a user may do after a sign-in: their role in each organization, and whether
// they are administrator.
func (h *signOnFixture) roles(subject, username string, groups ...string) (map[string]users.Role, bool) {
	h.Helper()
	a, err := h.comes(subject, username, groups...)
	require.NoError(h, err)
	v := h.principal(a.Session)
	all := map[string]users.Role{}
	for _, p := range v.Visible() {
		all[p.Organization.Slug] = p.Role
	}
	return all, v.Administrator
}

// member returns grace in an organization.
func (h *signOnFixture) member(org string) users.Member { return h.memberNamed(org, "grace") }

// memberNamed returns a user in an organization.
func (h *signOnFixture) memberNamed(org, username string) (m users.Member) {
	h.Helper()
	require.NoError(h, h.store.Update(h.Context(), func(tx ports.Tx) error {
		o, err := tx.Orgs().BySlug(h.Context(), org)
		if err != nil {
			return err
		}
		us, _, err := tx.Users().Ensure(h.Context(), []users.User{{Username: username}})
		if err != nil {
			return err
		}
		ms, _, err := tx.Users().EnsureMembers(h.Context(), o.ID, []users.Member{{User: us[0]}})
		if err == nil {
			m, err = tx.Users().ByID(h.Context(), o.ID, ms[0].ID)
		}
		return err
	}))
	return m
}

// joins gives grace a role in an organization, and accepts it with a password that its operators
// know.
func (h *signOnFixture) joins(org, word string, role users.Role) {
	h.Helper()
	m := h.member(org)
	editor := operators.Editor{Actor: h.by, Level: operators.Administrator}
	at := app.Path{Organization: org}
	require.NoError(h, h.admin.Grant(h.Context(), editor, at, m.ID, role))
	token, _, err := h.admin.Invite(h.Context(), editor, at, m.ID, false)
	require.NoError(h, err)
	p, err := operators.NewPassword("password", word)
	require.NoError(h, err)
	_, err = h.operators.Accept(h.Context(), h.by, h.from, token, p)
	require.NoError(h, err)
}

// opens returns what a password of grace opens.
func (h *signOnFixture) opens(word string) []string {
	h.Helper()
	a, err := h.operators.SignIn(h.Context(), h.by, h.from, "grace", word)
	if err != nil {
		require.ErrorIs(h, err, operators.ErrCredentials)
		return nil
	}
	var all []string
	for _, p := range h.principal(a.Session).Visible() {
		all = append(all, p.Organization.Slug)
	}
	return all
}

const acmes = "a password of acme's people"

func TestSignOnRoles(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	roles, administrator := h.roles("1", "grace", "staff", "other")
	assert.Equal(t, map[string]users.Role{"acme": users.RoleViewer}, roles)
	assert.False(t, administrator)
	m := h.member("acme")
	assert.Equal(t, users.Details{Email: "grace@example.org", FirstName: "First"}, m.Details)
	assert.Equal(t, []string{orgs.DefaultGroup}, m.Groups)

	roles, administrator = h.roles("1", "grace", "boss", "staff", "it")
	assert.Equal(t, map[string]users.Role{"acme": users.RoleAdministrator}, roles, "the highest counts")
	assert.True(t, administrator)
	roles, administrator = h.roles("1", "grace", "it")
	assert.Empty(t, roles)
	assert.True(t, administrator)

	a, err := h.comes("1", "grace", "staff")
	require.NoError(t, err)
	_, err = h.comes("1", "grace", "other")
	require.ErrorIs(t, err, signon.ErrNoRole)
	assert.False(t, h.isIn(a.Session), "who has nothing any more is signed in nowhere")
	assert.Equal(t, users.RoleMember, h.member("acme").Role)

	found, err := app.NewAudit(h.store).Search(t.Context(), app.Path{Organization: "acme"}, audit.Query{Action: audit.RoleSet, Limit: 10})
	require.NoError(t, err)
	require.Len(t, found.Entries, 5)
	for _, e := range found.Entries {
		assert.Equal(t, "grace", e.Actor.Name)
		assert.Equal(t, "single sign-on", e.After["by"])
	}
	assert.Contains(t, h.actions(), audit.AdministratorSet)
	assert.Contains(t, h.actions(), audit.SignInRefused)
}

func TestSignOnUnmappedOrganization(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	h.joins("globex", "a password of globex's", users.RoleOperator)
	roles, _ := h.roles("1", "grace", "staff")
	assert.Equal(t, map[string]users.Role{"acme": users.RoleViewer}, roles, "what globex gave, the identity does not open")
	assert.Equal(t, []string{"globex"}, h.opens("a password of globex's"))
	assert.Equal(t, users.RoleOperator, h.member("globex").Role)
}

func TestInvitationToSingleSignOnAccount(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	roles, _ := h.roles("1", "grace", "boss", "it")
	require.Len(t, roles, 1)
	h.roles("1", "grace", "boss")
	h.joins("acme", acmes, users.RoleViewer)
	assert.Equal(t, []string{"acme"}, h.opens(acmes), "acme's people got in to acme, which is theirs")
	roles, administrator := h.roles("1", "grace", "boss", "it")
	assert.Equal(t, map[string]users.Role{"acme": users.RoleAdministrator}, roles)
	assert.True(t, administrator)
	assert.Empty(t, h.opens(acmes), "and what the provider gives, their password does not open")
	all, err := h.signOn.LinksOf(t.Context(), "grace")
	require.NoError(t, err)
	for _, a := range all {
		assert.True(t, a.Hash == "" || a.Link.ID == "", "no account has both")
	}
	p, err := operators.NewPassword("password", "a password of somebody else")
	require.NoError(t, err)
	require.ErrorIs(t, h.admin.SetPassword(t.Context(), h.by, app.Path{}, "grace", p), operators.ErrNoPassword)
}

func TestSignOnKeepsRolesOfOrganization(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	h.joins("acme", acmes, users.RoleOperator)
	roles, administrator := h.roles("1", "grace", "it")
	assert.Empty(t, roles, "the identity does not open what another account has accepted")
	assert.True(t, administrator)
	assert.Equal(t, users.RoleOperator, h.member("acme").Role)
	assert.Equal(t, []string{"acme"}, h.opens(acmes))
}

func TestSingleSignOnAccountAcceptsInvitation(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	a, err := h.comes("1", "grace", "staff")
	require.NoError(t, err)
	m := h.member("globex")
	editor := operators.Editor{Actor: h.by, Level: operators.Administrator}
	require.NoError(t, h.admin.Grant(t.Context(), editor, app.Path{Organization: "globex"}, m.ID, users.RoleOperator))
	token, _, err := h.admin.Invite(t.Context(), editor, app.Path{Organization: "globex"}, m.ID, false)
	require.NoError(t, err)
	require.NoError(t, h.operators.Join(t.Context(), h.by, token, h.principal(a.Session), nil))
	roles, _ := h.roles("1", "grace", "staff")
	assert.Equal(t, map[string]users.Role{"acme": users.RoleViewer, "globex": users.RoleOperator}, roles)
	roles, _ = h.roles("1", "grace")
	assert.Equal(t, map[string]users.Role{"globex": users.RoleOperator}, roles, "only what the mapping names is removed")
}

func TestSignOnSubject(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	_, err := h.comes("1", "grace", "staff")
	require.NoError(t, err)
	a, err := h.comes("1", "renamed", "staff")
	require.NoError(t, err)
	assert.Equal(t, "grace", h.principal(a.Session).User.Username, "a username that changes changes nothing")
	_, err = h.comes("2", "Grace", "staff")
	require.ErrorIs(t, err, signon.ErrTaken, "and somebody else who gets it gets nothing")
	_, err = h.comes("3", "ADA", "it")
	require.ErrorIs(t, err, signon.ErrTaken, "least of all an account of the installation")
	for _, name := range []string{"", "a\x00b", string(make([]byte, 300))} {
		_, err = h.comes("4", name, "staff")
		require.ErrorIs(t, err, signon.ErrUsername)
	}
}

func TestLinkingAnAccount(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{BreakGlass: "root"})
	to := signon.Subject{ID: "3"}
	require.NoError(t, h.signOn.Link(t.Context(), h.by, "ada", to))
	_, administrator := h.roles("3", "whatever", "it")
	assert.True(t, administrator)
	assert.NotNil(t, h.signIn(), "the password goes on")

	h.joins("acme", acmes, users.RoleOperator)
	err := h.signOn.Link(t.Context(), h.by, "grace", signon.Subject{ID: "4"})
	require.Error(t, err)
	assert.Equal(t, fault.NotFound, fault.KindOf(err), "acme's people know that password")
	require.ErrorIs(t, h.signOn.Link(t.Context(), h.by, "ROOT", to), signon.ErrReserved)
	require.Error(t, h.signOn.Link(t.Context(), h.by, "ada", signon.Subject{}))

	a, err := h.comes("3", "ada", "it")
	require.NoError(t, err)
	require.NoError(t, h.signOn.Link(t.Context(), h.by, "ada", signon.Subject{ID: "5"}))
	assert.False(t, h.isIn(a.Session), "the sessions of the identity from before end")
	_, err = h.comes("3", "ada", "it")
	require.ErrorIs(t, err, signon.ErrTaken)

	_, err = h.comes("6", "bob", "staff")
	require.NoError(t, err)
	dropped, err := h.signOn.Unlink(t.Context(), h.by, "bob")
	require.NoError(t, err)
	assert.True(t, dropped)
	_, err = h.comes("6", "bob", "staff")
	require.NoError(t, err, "whoever still has a group comes back")
	dropped, err = h.signOn.Unlink(t.Context(), h.by, "ada")
	require.NoError(t, err)
	assert.False(t, dropped)
}

func TestSignOnWithoutMapping(t *testing.T) {
	h := newSignOnFixture(t, nil, operators.Policy{})
	roles, administrator := h.roles("1", "grace", "staff")
	assert.Empty(t, roles)
	assert.False(t, administrator)
	h.member("acme")
	counts, err := h.admin.SetRole(t.Context(), h.by, app.Path{Organization: "acme"}, "grace", users.RoleOperator)
	require.NoError(t, err)
	assert.True(t, counts)
	roles, _ = h.roles("1", "grace")
	assert.Equal(t, map[string]users.Role{"acme": users.RoleOperator}, roles)
}

func TestTheEmergencyAccount(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{SingleSignOnOnly: true, BreakGlass: "ada"})
	h.joins("acme", acmes, users.RoleOperator)
	assert.Empty(t, h.opens(acmes))
	assert.True(t, h.isIn(h.signIn().Session))
	assert.Contains(t, h.actions(), audit.BreakGlassUsed)
	_, err := h.comes("1", "ada", "it")
	require.ErrorIs(t, err, signon.ErrReserved)
	a, err := h.comes("2", "grace", "it")
	require.NoError(t, err)
	assert.True(t, h.isIn(a.Session))
}

// TestEmergencyAccountKeepsItsRight has a session of single sign-on from before the account became
// the emergency account.
func TestEmergencyAccountKeepsItsRight(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	require.NoError(t, h.signOn.Link(t.Context(), h.by, "ada", signon.Subject{ID: "1"}))
	a, err := h.comes("1", "ada", "it")
	require.NoError(t, err)
	h.operators = app.NewOperators(h.store, h.clock, operators.Policy{Issuer: "https://id.example", BreakGlass: "ada"})
	h.signOn = app.NewSingleSignOn(h.operators, h.says, app.SignOnSettings{Mapping: mapping})
	require.ErrorIs(t, h.comesAgain(a.Session, "staff"), signon.ErrReserved)
	assert.True(t, h.principal(a.Session).Administrator)
}

func TestBackChannelLogout(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	require.NoError(t, h.signOn.Link(t.Context(), h.by, "ada", signon.Subject{ID: "1"}))
	local := h.signIn().Session
	first, err := h.comes("1", "ada", "it")
	require.NoError(t, err)
	other, err := h.comes("2", "grace", "staff")
	require.NoError(t, err)
	token := `{"Issuer":"https://id.example","Subject":"1","Token":"t","Expires":"2030-01-01T00:00:00Z"}`
	require.NoError(t, h.signOn.LogOut(t.Context(), h.by, token))
	assert.False(t, h.isIn(first.Session))
	assert.True(t, h.isIn(other.Session))
	assert.True(t, h.isIn(local))
	require.ErrorIs(t, h.signOn.LogOut(t.Context(), h.by, token), signon.ErrReplayed)
	assert.Equal(t, audit.SignedOutByProvider, h.actions()[0])
}

func TestSignOnAuthenticationTime(t *testing.T) {
	h := newSignOnFixture(t, nil, operators.Policy{})
	for ago, recent := range map[time.Duration]bool{0: true, operators.Recent - time.Second: true, operators.Recent: false, -time.Hour: true} {
		h.says.Identity = signon.Identity{Subject: signon.Subject{Issuer: "https://id.example", ID: "1"}, Username: "grace", Authenticated: h.clock.Now().Add(-ago)}
		assert.Equal(t, recent, h.says.AuthenticatedAt(h.clock.Now()).Add(operators.Recent).After(h.clock.Now()), ago)
		assert.False(t, h.says.AuthenticatedAt(h.clock.Now()).After(h.clock.Now()), ago)
	}
	h.says.Authenticated = time.Time{}
	d, err := h.signOn.Begin(t.Context(), operators.Principal{}, "back", "next", "")
	require.NoError(t, err)
	a, err := h.signOn.Finish(t.Context(), h.by, h.from, app.SignOnCallback{Step: d.Step, State: d.Address, Code: "c"})
	require.NoError(t, err)
	v := h.principal(a.Session)
	assert.False(t, v.Recent(h.clock.Now()), "a provider that says nothing may have asked nobody")
	assert.Equal(t, operators.BySingleSignOn, v.Method)
}

// TestSigningInAgainAppliesGroups checks that a session does not outlive the groups that its holder
// had when it began.
func TestSigningInAgainAppliesGroups(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	a, err := h.comes("1", "grace", "boss", "it")
	require.NoError(t, err)
	require.NoError(t, h.comesAgain(a.Session, "staff"))
	v := h.principal(a.Session)
	assert.False(t, v.Administrator)
	assert.Equal(t, users.RoleViewer, h.member("acme").Role)
	assert.Equal(t, []audit.Action{audit.Reauthenticated, audit.AdministratorSet}, h.actions()[:2])

	require.ErrorIs(t, h.comesAgain(a.Session, "other"), signon.ErrNoRole)
	assert.Equal(t, users.RoleMember, h.member("acme").Role, "the change stays")
	assert.False(t, h.isIn(a.Session))
	assert.Equal(t, audit.SignInRefused, h.actions()[0])
}

func TestSignOnProviderUnavailable(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	before := len(h.actions())
	d, err := h.signOn.Begin(t.Context(), operators.Principal{}, "back", "next", "")
	require.NoError(t, err)
	h.says.fault = signon.ErrUnavailable
	_, err = h.signOn.Finish(t.Context(), h.by, h.from, app.SignOnCallback{Step: d.Step, State: d.Address, Code: "c"})
	require.ErrorIs(t, err, signon.ErrUnavailable)
	assert.Len(t, h.actions(), before)
}

func TestPasskeyOfSingleSignOnAccount(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	h.factors = app.NewFactors(h.operators, authenticators(t), false)
	a, err := h.comes("1", "grace", "staff")
	require.NoError(t, err)
	k := key()
	_, err = h.passkey(a.Session, "", k)
	require.NoError(t, err)
	_, err = h.enter(k)
	require.ErrorIs(t, err, operators.ErrSingleSignOnOnly)
	a, err = h.comes("1", "grace", "staff")
	require.NoError(t, err)
	assert.Empty(t, a.Step, "a second factor is the provider's to ask for")
	assert.True(t, h.isIn(a.Session))
}

// TestSessionsOfFormerProvider checks that sessions of single sign-on do not outlive its provider
// in the settings.
func TestSessionsOfFormerProvider(t *testing.T) {
	h := newSignOnFixture(t, mapping, operators.Policy{})
	a, err := h.comes("1", "grace", "boss")
	require.NoError(t, err)
	require.True(t, h.isIn(a.Session))
	for issuer, isIn := range map[string]bool{"": false, "https://other.example": false, "https://id.example": true} {
		h.operators = app.NewOperators(h.store, h.clock, operators.Policy{Issuer: issuer})
		assert.Equal(t, isIn, h.isIn(a.Session), "issuer %q", issuer)
	}
}
