package operators_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

const acme, globex = orgs.ID(1), orgs.ID(2)

func holding(id operators.AccountID, of orgs.ID, opens ...orgs.ID) operators.AccountAccess {
	h := operators.AccountAccess{Account: operators.Account{ID: id, User: users.User{ID: 7}, Hash: "h", Organization: of}}
	for _, o := range opens {
		h.Organizations = append(h.Organizations, operators.OrganizationAccess{Organization: orgs.Organization{ID: o}, Role: users.RoleViewer})
	}
	return h
}

func administrator(h operators.AccountAccess) operators.AccountAccess {
	h.Administrator = true
	return h
}

// TestTheAccountOfAnInvitation is about a link of acme: it checks the account of its password; 0 is
// a new one.
func TestTheAccountOfAnInvitation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of                 []operators.AccountAccess
		acme, installation operators.AccountID // by who made the link
	}{
		"NoAccount":                      {},
		"OneThatOpensOnlyAcme":           {of: []operators.AccountAccess{holding(1, acme, acme)}, acme: 1, installation: 1},
		"OneOfTheInstallationForAcme":    {of: []operators.AccountAccess{holding(1, 0, acme)}, acme: 1, installation: 1},
		"OneThatOpensAnotherOneToo":      {of: []operators.AccountAccess{holding(1, acme, acme, globex)}, installation: 1},
		"OneThatOpensAnotherOne":         {of: []operators.AccountAccess{holding(1, globex, globex)}},
		"OneThatAcmeMadeAndOpensNothing": {of: []operators.AccountAccess{holding(1, acme)}, acme: 1, installation: 1},
		"OneOfAnotherThatOpensNothing":   {of: []operators.AccountAccess{holding(1, globex)}},
		"OneOfTheInstallation":           {of: []operators.AccountAccess{holding(1, 0)}, installation: 1},
		"AnAdministrator":                {of: []operators.AccountAccess{administrator(holding(1, 0))}, installation: 1},
		"AnAdministratorWithAcme":        {of: []operators.AccountAccess{administrator(holding(1, 0, acme))}, installation: 1},
		"AnAdministratorByAcmesLink":     {of: []operators.AccountAccess{administrator(holding(1, acme, acme))}, installation: 1},
		"TheRightOneOfSeveral": {of: []operators.AccountAccess{holding(1, acme), holding(2, globex, globex), holding(3, 0, acme), administrator(holding(4, 0))},
			acme: 3, installation: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := operators.Invited{User: users.User{ID: 7}, Access: operators.OrganizationAccess{Organization: orgs.Organization{ID: acme}, Role: users.RoleViewer}}
			assert.Equal(t, c.acme, i.Account(c.of).ID)
			assert.Equal(t, users.ID(7), i.Account(c.of).User.ID)
			assert.Equal(t, acme, i.Origin())
			i.Installation = true
			assert.Equal(t, c.installation, i.Account(c.of).ID)
			assert.Zero(t, i.Origin())
		})
	}
}

func TestNeedsNewPassword(t *testing.T) {
	t.Parallel()
	i := operators.Invited{Access: operators.OrganizationAccess{Organization: orgs.Organization{ID: acme}}}
	for name, c := range map[string]struct {
		account operators.Account
		asks    bool
	}{
		"NobodysPassword": {operators.Account{Hash: "h"}, false},
		"AcmesOwn":        {operators.Account{Hash: "h", Organization: acme}, false},
		"AnotherOnes":     {operators.Account{Hash: "h", Organization: globex}, true},
		"AnotherOnesKey":  {operators.Account{Organization: globex}, true},
		"SingleSignOn":    {operators.Account{Organization: globex, Issuer: "https://id.example"}, false},
	} {
		for _, installation := range []bool{true, false} {
			i.Installation = installation
			assert.Equal(t, c.asks, i.NeedsNewPassword(c.account), name)
		}
	}
}

func TestInvitationValid(t *testing.T) {
	t.Parallel()
	i, token := operators.NewInvitation(users.Member{ID: 3}, true, noon)
	d, err := operators.ParseToken(token)
	require.NoError(t, err)
	assert.Equal(t, operators.Invitation{Digest: d, Member: 3, Installation: true, Expires: noon.Add(operators.InvitationLife)}, i)
	for role, valid := range map[users.Role]bool{users.RoleMember: false, users.RoleViewer: true, users.RoleOperator: true, users.RoleAdministrator: true} {
		for _, locked := range []bool{false, true} {
			invited := operators.Invited{Invitation: i, Access: operators.OrganizationAccess{Role: role, Locked: locked}}
			assert.Equal(t, valid, invited.Valid(i.Expires.Add(-1)), role)
			assert.False(t, invited.Valid(i.Expires))
		}
	}
}

func TestWhichAccountIsMeant(t *testing.T) {
	t.Parallel()
	one, two, root := holding(1, acme, acme), holding(2, globex, globex), administrator(holding(3, 0))
	for name, c := range map[string]struct {
		of   []operators.AccountAccess
		main operators.AccountID
		err  error
		acme operators.AccountID
	}{
		"None":             {err: operators.ErrNotFound},
		"TheOnlyOne":       {of: []operators.AccountAccess{two}, main: 2},
		"OfSeveral":        {of: []operators.AccountAccess{one, two}, err: operators.ErrSeveralPasswords, acme: 1},
		"TheAdministrator": {of: []operators.AccountAccess{root, one}, main: 3, acme: 1},
		"WithoutAcme":      {of: []operators.AccountAccess{two, root}, main: 3, acme: 3},
	} {
		a, err := operators.DefaultAccount(c.of)
		require.ErrorIs(t, err, c.err, name)
		assert.Equal(t, c.main, a.ID, name)
		assert.Equal(t, c.acme, operators.AccountFor(c.of, acme).ID, name)
	}
}
