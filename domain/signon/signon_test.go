package signon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
)

var noon = time.Date(2026, time.March, 4, 12, 0, 0, 0, time.UTC)

func TestMapping(t *testing.T) {
	t.Parallel()
	m := signon.Mapping{{Group: "a", Organization: "acme", Role: users.RoleViewer}, {Group: "b", Organization: "globex", Role: users.RoleAdministrator},
		{Group: "c", Organization: "acme", Role: users.RoleOperator}, {Group: "d"}}
	assert.Equal(t, []string{"acme", "globex"}, m.Organizations())
	assert.Equal(t, users.RoleViewer, m.Role("acme", []string{"x", "a"}))
	assert.Equal(t, users.RoleOperator, m.Role("acme", []string{"a", "c"}))
	assert.Equal(t, users.RoleOperator, m.Role("acme", []string{"c", "a"}))
	for _, groups := range [][]string{nil, {"A"}, {"b"}, {"d"}, {""}} {
		assert.Equal(t, users.RoleMember, m.Role("acme", groups), groups)
	}
	for _, c := range []struct {
		of          signon.Mapping
		groups      []string
		is, decides bool
	}{{m, []string{"d"}, true, true}, {m, []string{"a"}, false, true}, {m[:3], []string{"d"}, false, false}, {nil, nil, false, false}} {
		is, decides := c.of.Administrator(c.groups)
		assert.Equal(t, c.is, is)
		assert.Equal(t, c.decides, decides)
	}
	assert.Empty(t, signon.Mapping(nil).Organizations())
}

func TestRecentFor(t *testing.T) {
	t.Parallel()
	at := func(moment time.Time) signon.Identity { return signon.Identity{Authenticated: moment} }
	assert.True(t, at(noon).RecentFor(noon))
	assert.True(t, at(noon.Add(-signon.Skew)).RecentFor(noon))
	assert.False(t, at(noon.Add(-signon.Skew-1)).RecentFor(noon))
	assert.False(t, signon.Identity{}.RecentFor(noon))
}

func TestLogoutTokenDigest(t *testing.T) {
	t.Parallel()
	one := signon.Logout{Issuer: "i", Token: "t", Subject: "s"}
	assert.Equal(t, one.Digest(), signon.Logout{Issuer: "i", Token: "t", Session: "other"}.Digest())
	assert.NotEqual(t, one.Digest(), signon.Logout{Issuer: "i", Token: "T"}.Digest())
	assert.NotEqual(t, one.Digest(), signon.Logout{Issuer: "it", Token: ""}.Digest())
}
