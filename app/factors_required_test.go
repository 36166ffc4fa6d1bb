package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// organizationOfEve creates an organization in which eve has a role.
func (d *signInFixture) organizationOfEve(slug string) {
	d.Helper()
	ctx := d.Context()
	require.NoError(d, d.store.Update(ctx, func(tx ports.Tx) error {
		o, err := tx.Orgs().Create(ctx, orgs.Organization{Slug: slug, Name: "The " + slug})
		require.NoError(d, err)
		of, err := tx.Operators().Accounts(ctx, "eve")
		require.NoError(d, err)
		ms, _, err := tx.Users().EnsureMembers(ctx, o.ID, []users.Member{{User: of[0].User}})
		require.NoError(d, err)
		ms[0].Role = users.RoleAdministrator
		require.NoError(d, tx.Users().SetRole(ctx, ms[0]))
		return tx.Operators().Accept(ctx, ms[0].ID, of[0].ID, d.clock.Now())
	}))
}

// acmeRequires makes acme require a second factor.
func (d *signInFixture) acmeRequires() {
	d.Helper()
	require.NoError(d, d.factors.Require(d.Context(), d.by, app.Path{Organization: "acme"}, true))
}

// owes reports whether an organization's requirement stops the holder of a session.
func (d *signInFixture) owes(session, slug string) bool {
	d.Helper()
	owed, err := d.factors.SetupRequired(d.Context(), d.principal(session), operators.OrganizationFactor, slug)
	require.NoError(d, err)
	return owed
}

func TestOrganizationRequiresFactor(t *testing.T) {
	d := newSignInFixture(t)
	d.account("eve")
	d.organizationOfEve("acme")
	d.organizationOfEve("globex")
	eve := d.signInAs("eve").Session
	assert.False(t, d.owes(eve, "acme"))
	d.acmeRequires()
	d.acmeRequires()
	assert.True(t, d.owes(eve, "acme"))
	assert.False(t, d.owes(eve, "globex"), "what one organization requires never hinders another one")
	names, err := d.factors.RequiringSetupNames(t.Context(), d.principal(eve), "globex")
	require.NoError(t, err)
	assert.Equal(t, []string{"The acme"}, names)
	found, err := app.NewAudit(d.store).Search(t.Context(), app.Path{Organization: "acme"}, audit.Query{Action: "organization.", Limit: 9})
	require.NoError(t, err)
	require.Len(t, found.Entries, 1, "repeating it changes nothing")
	assert.Equal(t, audit.OrganizationUpdated, found.Entries[0].Action)
	assert.Equal(t, audit.State{"requires_second_factor": true}, found.Entries[0].After)

	sso := d.principal(eve)
	sso.Method = operators.BySingleSignOn
	owed, err := d.factors.SetupRequired(t.Context(), sso, operators.OrganizationFactor, "acme")
	require.NoError(t, err)
	assert.False(t, owed, "the provider asks for what it wants")
	_, err = d.passkey(eve, "", key())
	require.NoError(t, err)
	assert.False(t, d.owes(eve, "acme"))
	require.ErrorIs(t, d.factors.Require(t.Context(), d.by, app.Path{Organization: "nowhere"}, true), orgs.ErrNotFound)
}

func TestRemoveRequiredFactor(t *testing.T) {
	d := newSignInFixture(t)
	d.account("eve")
	d.organizationOfEve("acme")
	eve := d.signInAs("eve").Session
	d.app(eve)
	_, err := d.passkey(eve, "", key())
	require.NoError(t, err)
	d.acmeRequires()
	v := d.principal(eve)
	require.NoError(t, d.factors.RemoveApp(t.Context(), d.by, v, eve), "there is another one")
	err = d.factors.RemovePasskey(t.Context(), d.by, v, eve, d.held(eve)[0].ID)
	require.ErrorIs(t, err, factors.ErrRequired)
	assert.Contains(t, err.Error(), "The acme requires a second factor")
	assert.Len(t, d.held(eve), 1)
	_, err = d.factors.Reset(t.Context(), d.by, "eve")
	require.NoError(t, err, "whoever runs the command line helps who has lost it")
	assert.True(t, d.owes(d.signInAs("eve").Session, "acme"))
}

func TestInstallationRequiresFactor(t *testing.T) {
	d := newSignInFixture(t)
	d.factors = app.NewFactors(d.operators, authenticators(t), true)
	d.account("eve")
	d.organizationOfEve("acme")
	ada, eve := d.signIn().Session, d.signInAs("eve").Session
	for _, rule := range []operators.FactorRule{operators.InstallationFactor, operators.OrganizationFactor} {
		owed, err := d.factors.SetupRequired(t.Context(), d.principal(ada), rule, "acme")
		require.NoError(t, err)
		assert.True(t, owed)
		owed, err = d.factors.SetupRequired(t.Context(), d.principal(eve), rule, "acme")
		require.NoError(t, err)
		assert.False(t, owed, "it is required of administrators of the installation alone")
	}
	owed, err := d.factors.SetupRequired(t.Context(), d.principal(ada), operators.NoFactor, "acme")
	require.NoError(t, err)
	assert.False(t, owed)
	names, err := d.factors.RequiringSetupNames(t.Context(), d.principal(ada), "")
	require.NoError(t, err)
	assert.Equal(t, []string{"This installation"}, names)
	d.app(ada)
	assert.False(t, d.owes(ada, "acme"))
	require.ErrorIs(t, d.factors.RemoveApp(t.Context(), d.by, d.principal(ada), ada), factors.ErrRequired)
}

func TestOrganizationRequiresFactorOfOperators(t *testing.T) {
	d := newSignInFixture(t)
	d.account("eve")
	d.organizationOfEve("acme")
	d.organizationOfEve("globex")
	d.acmeRequires()
	ada := d.signIn().Session // An administrator of the installation.
	assert.True(t, d.owes(ada, "acme"))
	assert.False(t, d.owes(ada, "globex"))
	assert.False(t, d.owes(ada, "nowhere"))
	names, err := d.factors.RequiringSetupNames(t.Context(), d.principal(ada), "acme")
	require.NoError(t, err)
	assert.Equal(t, []string{"The acme"}, names)
	d.account("stranger")
	names, err = d.factors.RequiringSetupNames(t.Context(), d.principal(d.signInAs("stranger").Session), "acme")
	require.NoError(t, err)
	assert.Empty(t, names, "of an organization that is not theirs nobody learns anything")
}
