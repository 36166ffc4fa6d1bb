package signon

import (
	"slices"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
)

// Rule gives a role to those who are in a group of the provider.
type Rule struct {
	Group        string
	Organization string     // its slug; empty: administrator of the installation
	Role         users.Role // in the organization
}

// Mapping is all rules. The provider decides nothing about organizations without a rule.
type Mapping []Rule

// Organizations are the slugs of the organizations whose roles the provider decides, in the order
// of the rules.
func (m Mapping) Organizations() []string {
	var all []string
	for _, r := range m {
		if r.Organization != "" && !slices.Contains(all, r.Organization) {
			all = append(all, r.Organization)
		}
	}
	return all
}

// Role is the highest role in an organization that these groups give; users.RoleMember when they
// give none.
func (m Mapping) Role(org string, groups []string) users.Role {
	best := users.RoleMember
	for _, r := range m {
		if r.Organization == org && slices.Contains(groups, r.Group) && operators.Outranks(r.Role, best) {
			best = r.Role
		}
	}
	return best
}

// Administrator reports whether these groups make a user an administrator of the installation, and
// whether the provider decides about that at all.
func (m Mapping) Administrator(groups []string) (is, decides bool) {
	for _, r := range m {
		if r.Organization == "" {
			decides = true
			is = is || slices.Contains(groups, r.Group)
		}
	}
	return is, decides
}
