package cli_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
)

func TestAdminSSO(t *testing.T) {
	t.Parallel()
	d := newShop(t)
	for _, username := range []string{"ada", "grace", "root"} {
		require.Zero(t, d.typed(t, "a long password\n", "admin", "create", "--username", username, "--password-stdin"), d.err.String())
	}
	require.Zero(t, d.run(t, "admin", "sso", "link", "--username", " ADA ", "--subject", "s-1"), d.err.String())
	assert.Equal(t, "ADA signs in with single sign-on now\n", d.out.String())
	require.Zero(t, d.run(t, "admin", "sso", "show", "--username", "ada"), d.err.String())
	assert.Regexp(t, `^OPENS +PASSWORD +SUBJECT +ISSUER +LINKED +LAST USED\ninstallation +yes +s-1 +https://id.example +\S+Z +never\n$`, d.out.String())

	require.Equal(t, 1, d.run(t, "admin", "sso", "link", "--username", "grace", "--subject", "s-1"))
	assert.Contains(t, d.err.String(), "is linked to another account")
	require.Zero(t, d.run(t, "admin", "sso", "link", "--username", "grace", "--subject", "s-1", "--issuer", "https://other.example"), d.err.String())
	require.Equal(t, 1, d.run(t, "admin", "sso", "link", "--username", "root", "--subject", "s-2"))
	assert.Contains(t, d.err.String(), "emergency account")
	require.Equal(t, 1, d.run(t, "admin", "sso", "link", "--username", "nobody", "--subject", "s-2"))
	require.Equal(t, 2, d.run(t, "admin", "sso", "link", "--username", "ada"))
	require.Equal(t, 2, d.run(t, "admin", "sso", "link", "--subject", "s-1"))
	require.Equal(t, 2, d.run(t, "admin", "sso", "show"))
	require.Equal(t, 1, d.run(t, "admin", "sso", "show", "--username", "nobody"))

	require.Zero(t, d.run(t, "admin", "sso", "unlink", "--username", "ada"), d.err.String())
	assert.Equal(t, "ada is not linked any more; the account and its password are left\n", d.out.String())
	require.Equal(t, 1, d.run(t, "admin", "sso", "unlink", "--username", "ada"))
	assert.Contains(t, d.err.String(), "no identity of the provider is linked")
	_, err := d.principal(t, "ada", "a long password")
	require.NoError(t, err)

	found, err := d.use(t).CLI.Audit.Search(t.Context(), app.Path{}, audit.Query{Action: "account.", Object: "accounts/ada", Limit: 10})
	require.NoError(t, err)
	var actions []audit.Action
	for _, e := range found.Entries {
		actions = append(actions, e.Action)
	}
	assert.Subset(t, actions, []audit.Action{audit.IdentityLinked, audit.IdentityUnlinked})
}
