package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Roles returns the members with a role in the console of the path's organization;
// orgs.ErrNotFound.
func (a *Administration) Roles(ctx context.Context, at Path, p Page) ([]operators.GrantedRole, error) {
	return viewAt(ctx, a.store, at, organization, func(tx ports.Tx, org orgs.Organization) ([]operators.GrantedRole, error) {
		return tx.Operators().GrantedRoles(ctx, org.ID, users.MemberID(p.After), p.Limit)
	})
}

// Role returns the role of the member with exactly this username; users.ErrNotFound,
// operators.ErrRoleNotFound.
func (a *Administration) Role(ctx context.Context, at Path, username string) (operators.GrantedRole, error) {
	return ports.View(ctx, a.store, func(tx ports.Tx) (operators.GrantedRole, error) {
		return grantedRole(ctx, tx, at, username)
	})
}

// memberWithRole finds a member who has a role in the console; users.ErrNotFound,
// operators.ErrRoleNotFound.
func memberWithRole(ctx context.Context, tx ports.Tx, at Path, username string) (users.Member, error) {
	m, err := memberByUsername(ctx, tx, at, username)
	if err == nil && !(operators.OrganizationAccess{Role: m.Role}).HasRole() {
		err = operators.ErrRoleNotFound
	}
	return m, err
}

func grantedRole(ctx context.Context, tx ports.Tx, at Path, username string) (operators.GrantedRole, error) {
	m, err := memberWithRole(ctx, tx, at, username)
	if err != nil {
		return operators.GrantedRole{}, err
	}
	accepted, err := tx.Operators().Acceptance(ctx, m.ID)
	return operators.GrantedRole{Member: m.ID, Username: m.User.Username, Role: m.Role, Locked: m.Locked, Accepted: accepted.At}, err
}

// GrantByName is Grant for the member with exactly this username, and returns the member's role
// afterwards.
func (a *Administration) GrantByName(
	ctx context.Context, by operators.Editor, at Path, username string, role users.Role,
) (operators.GrantedRole, error) {
	return updateAt(ctx, a.store, at, bind(memberByUsername, username), func(tx ports.Tx, m users.Member) (operators.GrantedRole, error) {
		if err := a.grant(ctx, tx, by, at, m, role); err != nil {
			return operators.GrantedRole{}, err
		}
		return grantedRole(ctx, tx, at, username)
	})
}

// RevokeByName removes the role of the member with exactly this username; users.ErrNotFound,
// operators.ErrRoleNotFound, operators.ErrHigherRole.
func (a *Administration) RevokeByName(ctx context.Context, by operators.Editor, at Path, username string) error {
	return changeAt(ctx, a.store, at, bind(memberWithRole, username), func(tx ports.Tx, m users.Member) error {
		return a.grant(ctx, tx, by, at, m, users.RoleMember)
	})
}

// InviteByName is Invite for the member with exactly this username; operators.ErrRoleNotFound for
// one without a role.
func (a *Administration) InviteByName(
	ctx context.Context, by operators.Editor, at Path, username string, reset bool,
) (token string, expires time.Time, err error) {
	err = changeAt(ctx, a.store, at, bind(memberWithRole, username), func(tx ports.Tx, m users.Member) error {
		token, expires, err = a.invite(ctx, tx, by, at, m, reset)
		return err
	})
	return token, expires, err
}
