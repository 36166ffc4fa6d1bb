package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// typed runs a command with a text on standard input.
func (d *fixture) typed(t *testing.T, in string, args ...string) int {
	t.Helper()
	d.In = strings.NewReader(in)
	return d.run(t, args...)
}

// principal signs in to the console and returns the operator with their rights.
func (d *fixture) principal(t *testing.T, username, password string) (operators.Principal, error) {
	t.Helper()
	use := d.use(t).Console.Operators
	a, err := use.SignIn(t.Context(), audit.Actor{Via: audit.Console}, operators.Origin{}, username, password)
	if err != nil {
		return operators.Principal{}, err
	}
	return use.Resume(t.Context(), a.Session)
}

func TestAdminCreate(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	require.Zero(t, d.typed(t, "a long password\r\nanother line\n", "admin", "create", "--username", " Ada ", "--password-stdin"), d.err.String())
	assert.Equal(t, "Ada is an administrator of the installation now\n", d.out.String())
	assert.NotContains(t, d.out.String()+d.err.String(), "a long password")
	v, err := d.principal(t, "ada", "a long password")
	require.NoError(t, err)
	assert.True(t, v.Administrator)

	require.Equal(t, 1, d.typed(t, "another password", "admin", "create", "--username", "ADA", "--password-stdin"))
	assert.Equal(t, "tocsin: this user can sign in already: tocsin admin password sets another password\n", d.err.String())
	_, err = d.principal(t, "ada", "another password")
	require.ErrorIs(t, err, operators.ErrCredentials)

	found, err := d.use(t).CLI.Audit.Search(t.Context(), app.Path{}, audit.Query{Limit: 10})
	require.NoError(t, err)
	first := found.Entries[len(found.Entries)-1]
	assert.Equal(t, audit.AccountCreated, first.Action)
	assert.Equal(t, audit.CommandLine, first.Actor.Via)
	assert.Equal(t, "accounts/Ada", first.Object)
}

func TestAdminPassword(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	require.Zero(t, d.typed(t, "the first password", "admin", "create", "--username", "ada", "--password-stdin"))
	require.Zero(t, d.typed(t, "the second password", "admin", "password", "--username", "ADA", "--password-stdin"), d.err.String())
	assert.Equal(t, "the password of ADA was changed, and all sessions ended\n", d.out.String())
	_, err := d.principal(t, "ada", "the first password")
	require.ErrorIs(t, err, operators.ErrCredentials)
	v, err := d.principal(t, "ada", "the second password")
	require.NoError(t, err)
	assert.True(t, v.Administrator, "what somebody may do stays")
}

func TestAdminRole(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	e := users.Enrollment{Details: users.Details{Email: "grace@example.org"}}
	_, err := d.use(t).API.Users.Create(t.Context(), audit.Actor{}, app.Path{Organization: "acme"}, e)
	require.NoError(t, err)
	require.Zero(t, d.run(t, "admin", "role", "--username", "grace@example.org", "--org", "acme", "--role", "operator"), d.err.String())
	assert.Equal(t, "grace@example.org is operator of acme now\nThe role counts once it is accepted: create an invitation link in the console, or set a password for it with\n"+
		"tocsin admin password --username grace@example.org --org acme\n", d.out.String())
	require.Zero(t, d.typed(t, "a long password", "admin", "password", "--username", "grace@example.org", "--org", "acme", "--password-stdin"), d.err.String())
	v, err := d.principal(t, "grace@example.org", "a long password")
	require.NoError(t, err)
	assert.False(t, v.Administrator)
	require.Len(t, v.Organizations, 1)
	assert.Equal(t, users.RoleOperator, v.Organizations[0].Role)
	require.Zero(t, d.run(t, "admin", "role", "--username", "grace@example.org", "--org", "acme", "--role", "operator"))
	assert.Equal(t, "grace@example.org is operator of acme now\n", d.out.String(), "it was accepted with the password")
	found, err := d.use(t).CLI.Audit.Search(t.Context(), app.Path{Organization: "acme"}, audit.Query{Action: audit.RoleSet, Limit: 10})
	require.NoError(t, err)
	log := found.Entries
	require.Len(t, log, 1, "what changes nothing is not recorded")
	assert.Equal(t, audit.State{"role": "member"}, log[0].Before)
	assert.Equal(t, audit.State{"role": "operator"}, log[0].After)
}

func TestAdminRefuses(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	for name, c := range map[string]struct {
		in     string
		args   []string
		status int
		says   string
	}{
		"NoUsername":        {"a long password", []string{"create", "--password-stdin"}, 2, "username: is required"},
		"NoTerminal":        {"a long password", []string{"create", "--username", "ada"}, 2, "add --password-stdin"},
		"ShortPassword":     {"short", []string{"create", "--username", "ada", "--password-stdin"}, 1, "password: is shorter than 12 characters"},
		"NobodysPassword":   {"a long password", []string{"password", "--username", "ada", "--password-stdin"}, 1, "this user cannot sign in"},
		"NobodyFirst":       {"a long password", []string{"password", "--username", "ada", "--org", "acme", "--password-stdin"}, 1, "not a member"},
		"WhosePassword":     {"a long password", []string{"password", "--password-stdin"}, 2, "--username is missing"},
		"UnknownRole":       {"", []string{"role", "--username", "ada", "--org", "acme", "--role", "king"}, 2, "role: must be one of member, viewer, operator, administrator"},
		"RoleWhere":         {"", []string{"role", "--username", "ada", "--role", "viewer"}, 2, "--username and --org are required"},
		"RoleOfNobody":      {"", []string{"role", "--username", "ada", "--org", "acme", "--role", "viewer"}, 1, "not a member"},
		"RoleInNoSuchPlace": {"", []string{"role", "--username", "ada", "--org", "other", "--role", "viewer"}, 1, "the organization does not exist"},
		"TooManyWords":      {"", []string{"create", "ada"}, 2, "means nothing here"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.status, d.typed(t, c.in, append([]string{"admin"}, c.args...)...))
			assert.Contains(t, d.err.String(), c.says)
		})
	}
}

func TestAdminResetFactors(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	require.Zero(t, d.typed(t, "a long password", "admin", "create", "--username", "ada", "--password-stdin"))
	require.Zero(t, d.run(t, "admin", "reset-factors", "--username", " Ada "), d.err.String())
	assert.Equal(t, "Ada has no second factor\n", d.out.String())
	v, err := d.principal(t, "ada", "a long password")
	require.NoError(t, err)
	require.NoError(t, d.store(t).Update(t.Context(), func(tx ports.Tx) error {
		return tx.Factors().SaveTOTP(t.Context(), factors.TOTP{Account: v.Account, Secret: factors.NewSecret(), Created: frozen{}.Now()})
	}))
	_, err = d.principal(t, "ada", "a long password")
	require.Error(t, err, "the password alone does not do")
	require.Zero(t, d.run(t, "admin", "reset-factors", "--username", "ada"), d.err.String())
	assert.Equal(t, "the second factor of ada was removed, and all sessions ended\n", d.out.String())
	_, err = d.principal(t, "ada", "a long password")
	require.NoError(t, err)
	require.Equal(t, 2, d.run(t, "admin", "reset-factors"))
	require.Equal(t, 1, d.run(t, "admin", "reset-factors", "--username", "nobody"))
}

func TestAdminRemove(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	require.Zero(t, d.typed(t, "a long password", "admin", "create", "--username", "ada", "--password-stdin"))
	v, err := d.principal(t, "ada", "a long password")
	require.NoError(t, err)
	require.True(t, v.Administrator)
	require.Zero(t, d.run(t, "admin", "remove", "--username", " Ada "), d.err.String())
	assert.Equal(t, "Ada is no administrator of the installation any more, and the sessions of that account ended\n", d.out.String())
	v, err = d.principal(t, "ada", "a long password")
	require.NoError(t, err)
	assert.False(t, v.Administrator)
	require.Equal(t, 1, d.run(t, "admin", "remove", "--username", "ada"), "there is nothing to remove")
	assert.Contains(t, d.err.String(), "this user is not an administrator of the installation")
	require.Equal(t, 1, d.run(t, "admin", "remove", "--username", "nobody"))
	require.Equal(t, 2, d.run(t, "admin", "remove"))
}
