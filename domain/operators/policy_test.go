package operators_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	root := operators.Account{User: users.User{Username: "Root"}, Administrator: true}
	ada := operators.Account{User: users.User{Username: "ada"}, Administrator: true, Hash: "h", Issuer: "https://id.example"}
	open, only := operators.Policy{Issuer: "https://id.example"}, operators.Policy{Issuer: "https://id.example", SingleSignOnOnly: true, BreakGlass: "root"}
	assert.True(t, open.Allows(ada, operators.ByPassword))
	assert.True(t, open.AllowsPasswordOf("ada"))
	assert.False(t, open.IsBreakGlassUsername(""), "nobody is the emergency account where none is named")
	assert.False(t, only.Allows(ada, operators.ByPassword))
	assert.False(t, only.Allows(ada, operators.ByPasskey))
	assert.True(t, only.Allows(ada, operators.BySingleSignOn))
	assert.False(t, only.AllowsPasswordOf("ada"))
	assert.True(t, only.Allows(root, operators.ByPassword))
	assert.True(t, only.AllowsPasswordOf("ROOT"))
	for _, issuer := range []string{"", "https://other.example"} {
		assert.False(t, operators.Policy{Issuer: issuer}.Allows(ada, operators.BySingleSignOn), "%q is not the provider", issuer)
	}
	assert.False(t, operators.Policy{}.Allows(root, operators.BySingleSignOn), "no identity opens it")
	alone := operators.Account{User: users.User{Username: "grace"}, Issuer: "https://id.example"}
	assert.True(t, open.Allows(alone, operators.BySingleSignOn))
	assert.False(t, open.Allows(alone, operators.ByPasskey))
	theirs, locked := root, root
	theirs.Organization, locked.Administrator = 7, false
	for _, a := range []operators.Account{theirs, locked} {
		assert.False(t, only.Allows(a, operators.ByPassword), "an organization's account of that name is another one")
	}
}

func TestPasswordOfSingleSignOnAccount(t *testing.T) {
	t.Parallel()
	alone := operators.AccountAccess{Account: operators.Account{ID: 1, Issuer: "https://id.example"}, Organizations: []operators.OrganizationAccess{{}}}
	_, err := operators.DefaultAccount([]operators.AccountAccess{alone})
	assert.ErrorIs(t, err, operators.ErrNoPassword)
	_, err = operators.DefaultAccount(nil)
	assert.ErrorIs(t, err, operators.ErrNotFound)
	both := operators.AccountAccess{Account: operators.Account{ID: 2, Issuer: "https://id.example", Hash: "h"}, Organizations: alone.Organizations}
	main, err := operators.DefaultAccount([]operators.AccountAccess{alone, both})
	assert.NoError(t, err)
	assert.Equal(t, both.ID, main.ID)
	for installation, want := range map[bool]operators.AccountID{false: 0, true: 2} {
		i := operators.Invited{Invitation: operators.Invitation{Installation: installation}}
		assert.Equal(t, want, i.Account([]operators.AccountAccess{alone, both}).ID, "installation: %v", installation)
	}
}
