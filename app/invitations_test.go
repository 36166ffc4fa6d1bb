package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
)

// TestPasswordOfSeveralAccounts is about an organization that sets the password of its account to a
// guess at the password of another account of the username. It opens the organization's account,
// right or wrong.
func TestPasswordOfSeveralAccounts(t *testing.T) {
	h := newSignOnFixture(t, nil, operators.Policy{})
	h.account("grace") // with the fixture's password, and the lowest id
	h.clock.Advance(-time.Minute)
	h.joins("acme", fixturePassword, users.RoleViewer)
	assert.Equal(t, []string{"acme"}, h.opens(fixturePassword), "the newest password counts, also where its instance's clock is behind")
	h.joins("globex", fixturePassword, users.RoleViewer)
	assert.Equal(t, []string{"globex"}, h.opens(fixturePassword))
}

// TestPasskeyInvitationIsNotInOtherLogs is about a link of an administrator of the installation: it
// is for an account that opens another organization, too.
func TestPasskeyInvitationIsNotInOtherLogs(t *testing.T) {
	h := newSignOnFixture(t, nil, operators.Policy{})
	h.account("grace")
	at := app.Path{Organization: "acme"}
	h.member("acme")
	_, err := h.admin.SetRole(t.Context(), h.by, at, "grace", users.RoleViewer)
	require.NoError(t, err)
	root, there := operators.Editor{Actor: h.by, Level: operators.Installation}, app.Path{Organization: "globex"}
	m := h.member("globex")
	require.NoError(t, h.admin.Grant(t.Context(), root, there, m.ID, users.RoleViewer))
	token, _, err := h.admin.Invite(t.Context(), root, there, m.ID, false)
	require.NoError(t, err)
	a, err := h.factors.BeginInvitedPasskey(t.Context(), token)
	require.NoError(t, err)
	in, err := h.factors.AcceptByPasskey(t.Context(), h.by, h.from, token, a.Step, "Laptop", key().Create(t, a.Options))
	require.NoError(t, err)
	assert.Len(t, h.principal(in.Session).Visible(), 2)
	found, err := app.NewAudit(h.store).Search(t.Context(), at, audit.Query{Limit: 100})
	require.NoError(t, err)
	assert.Contains(t, fmt.Sprint(found.Entries), "Laptop")
	assert.NotContains(t, fmt.Sprint(found.Entries), "globex")
}

// TestWithdrawnRoleEndsItsInvitation checks that a link does not come back with the role.
func TestWithdrawnRoleEndsItsInvitation(t *testing.T) {
	at := app.Path{Organization: "acme"}
	for name, withdraw := range map[string]func(h *signOnFixture, m users.Member){
		"ByAnAdministrator": func(h *signOnFixture, m users.Member) {
			require.NoError(h, h.admin.Grant(h.Context(), operators.Editor{Actor: h.by, Level: operators.Administrator}, at, m.ID, users.RoleMember))
		},
		"ByTheCommandLine": func(h *signOnFixture, _ users.Member) {
			_, err := h.admin.SetRole(h.Context(), h.by, at, "grace", users.RoleMember)
			require.NoError(h, err)
		},
		"ByTheProvider": func(h *signOnFixture, _ users.Member) {
			_, err := h.comes("1", "grace", "other")
			require.ErrorIs(h, err, signon.ErrNoRole)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSignOnFixture(t, mapping, operators.Policy{})
			_, err := h.comes("1", "grace", "staff")
			require.NoError(t, err)
			m, editor := h.member("acme"), operators.Editor{Actor: h.by, Level: operators.Administrator}
			token, _, err := h.admin.Invite(t.Context(), editor, at, m.ID, false)
			require.NoError(t, err)
			withdraw(h, m)
			require.NoError(t, h.admin.Grant(t.Context(), editor, at, m.ID, users.RoleViewer))
			_, err = h.operators.ShowInvitation(t.Context(), token, operators.Principal{})
			require.ErrorIs(t, err, operators.ErrInvitation)
		})
	}
}
