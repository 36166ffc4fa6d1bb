package operators_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

func TestEditorHigherRole(t *testing.T) {
	t.Parallel()
	roles := []users.Role{users.RoleMember, users.RoleViewer, users.RoleOperator, users.RoleAdministrator}
	for right, changeable := range map[operators.AccessLevel]int{
		operators.Everyone: 1, operators.SignedIn: 1, operators.Viewer: 2, operators.Operator: 3, operators.Administrator: 4, operators.Installation: 4,
	} {
		for i, role := range roles {
			for _, locked := range []bool{false, true} {
				err := operators.Editor{Level: right}.MayChange(users.Member{Role: role, Locked: locked})
				if i < changeable {
					require.NoError(t, err, "%d %s", right, role)
				} else {
					require.ErrorIs(t, err, operators.ErrHigherRole, "%d %s", right, role)
				}
			}
		}
	}
	o := operators.Editor{Level: operators.Operator}
	named := func(username string, role users.Role) users.Member {
		return users.Member{User: users.User{Username: username}, Role: role}
	}
	err := o.MayChange(named("ada", users.RoleMember), named("eve", users.RoleAdministrator), named("bob", users.RoleOperator), named("zoe", users.RoleAdministrator))
	require.EqualError(t, err, "you may not change eve, zoe: only administrators can change administrators")
	require.NoError(t, o.MayChange())
}

func TestRight(t *testing.T) {
	t.Parallel()
	place := func(slug string, role users.Role, locked bool) operators.OrganizationAccess {
		return operators.OrganizationAccess{Organization: orgs.Organization{Slug: slug}, Role: role, Locked: locked}
	}
	v := operators.Principal{User: users.User{ID: 1}, Organizations: []operators.OrganizationAccess{place("a", users.RoleOperator, false), place("b", users.RoleAdministrator, true), place("c", users.RoleMember, false)}}
	for org, want := range map[string]operators.AccessLevel{"a": operators.Operator, "b": operators.SignedIn, "c": operators.SignedIn, "d": operators.SignedIn} {
		assert.Equal(t, want, v.Level(org), org)
	}
	v.Administrator = true
	assert.Equal(t, operators.Installation, v.Level("d"))
	assert.Equal(t, operators.Everyone, operators.Principal{}.Level("a"))
}
