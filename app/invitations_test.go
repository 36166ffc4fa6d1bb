package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/operators"
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
