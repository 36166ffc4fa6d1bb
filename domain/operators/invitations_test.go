package operators_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

func TestWhoMayHaveAPasswordSet(t *testing.T) {
	t.Parallel()
	const acme, globex = orgs.ID(1), orgs.ID(2)
	place := func(org orgs.ID, role users.Role) operators.Place {
		return operators.Place{Organization: orgs.Organization{ID: org}, Role: role}
	}
	locked := place(globex, users.RoleViewer)
	locked.Locked = true
	for name, c := range map[string]struct {
		account            operators.Account
		places             []operators.Place
		acme, installation error
	}{
		"WithoutAPlace":       {places: nil, acme: operators.ErrNoRole, installation: operators.ErrNoRole},
		"AMember":             {places: []operators.Place{place(acme, users.RoleMember)}, acme: operators.ErrNoRole, installation: operators.ErrNoRole},
		"ARoleElsewhereAlone": {places: []operators.Place{place(acme, users.RoleMember), place(globex, users.RoleViewer)}, acme: operators.ErrNoRole, installation: operators.ErrNoRole},
		"AViewer":             {places: []operators.Place{place(acme, users.RoleViewer)}},
		"AMemberElsewhere":    {places: []operators.Place{place(acme, users.RoleViewer), place(globex, users.RoleMember)}},
		"AViewerElsewhere":    {places: []operators.Place{place(acme, users.RoleViewer), place(globex, users.RoleViewer)}, acme: operators.ErrShared},
		"LockedElsewhere":     {places: []operators.Place{place(acme, users.RoleViewer), locked}, acme: operators.ErrShared},
		"OfTheInstallation":   {account: operators.Account{Administrator: true}, places: []operators.Place{place(acme, users.RoleViewer)}, acme: operators.ErrShared},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.acme, operators.Officer{Right: operators.Administrator}.MayInvite(c.account, c.places, acme))
			assert.Equal(t, c.installation, operators.Officer{Right: operators.Installation}.MayInvite(c.account, c.places, acme))
		})
	}
}
