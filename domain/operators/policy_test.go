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
	ada := operators.Account{User: users.User{Username: "ada"}, Administrator: true}
	open, only := operators.Policy{}, operators.Policy{SingleSignOnOnly: true, BreakGlass: "root"}
	assert.True(t, open.Admits(ada, operators.ByPassword))
	assert.True(t, open.TakesPasswordOf("ada"))
	assert.False(t, open.Reserves(""), "nobody is the emergency account where none is named")
	assert.False(t, only.Admits(ada, operators.ByPassword))
	assert.False(t, only.Admits(ada, operators.ByPasskey))
	assert.True(t, only.Admits(ada, operators.BySingleSignOn))
	assert.False(t, only.TakesPasswordOf("ada"))
	assert.True(t, only.Admits(root, operators.ByPassword))
	assert.True(t, only.TakesPasswordOf("ROOT"))
	alone := operators.Account{User: users.User{Username: "grace"}, Linked: true}
	assert.True(t, open.Admits(alone, operators.BySingleSignOn))
	assert.False(t, open.Admits(alone, operators.ByPasskey))
	theirs, locked := root, root
	theirs.Organization, locked.Administrator = 7, false
	for _, a := range []operators.Account{theirs, locked} {
		assert.False(t, only.Admits(a, operators.ByPassword), "an organization's account of that name is another one")
	}
}

func TestAPasswordForAnAccountOfSingleSignOn(t *testing.T) {
	t.Parallel()
	alone := operators.Holding{Account: operators.Account{ID: 1, Linked: true}, Places: []operators.Place{{}}}
	_, err := operators.Main([]operators.Holding{alone})
	assert.ErrorIs(t, err, operators.ErrSignOnAlone)
	_, err = operators.Main(nil)
	assert.ErrorIs(t, err, operators.ErrNotFound)
	both := operators.Holding{Account: operators.Account{ID: 2, Linked: true, Hash: "h"}, Places: alone.Places}
	main, err := operators.Main([]operators.Holding{alone, both})
	assert.NoError(t, err)
	assert.Equal(t, both.ID, main.ID)
	for installation, want := range map[bool]operators.AccountID{false: 0, true: 2} {
		i := operators.Invited{Invitation: operators.Invitation{Installation: installation}}
		assert.Equal(t, want, i.Account([]operators.Holding{alone, both}).ID, "installation: %v", installation)
	}
}
