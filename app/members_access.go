package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Access is what an operator of an organization sees of a member's access: what concerns the
// organization, and nothing of what the user has elsewhere.
type Access struct {
	Accepted time.Time // when the member accepted the role that the organization gave them; zero: not yet
}

// Access returns whether a member can sign in; users.ErrNotFound.
func (a *Administration) Access(ctx context.Context, at Path, id users.MemberID) (Access, error) {
	return viewAt(ctx, a.store, at, bind(memberByID, id), func(tx ports.Tx, m users.Member) (found Access, err error) {
		accepted, err := tx.Operators().Acceptance(ctx, m.ID)
		found = Access{Accepted: accepted.At}
		return found, err
	})
}

// Grant gives a member a role in the organization; repeating it changes nothing. The role takes
// effect once its holder has accepted it by a link of the organization (Invite). users.ErrNotFound,
// operators.ErrHigherRole.
func (a *Administration) Grant(ctx context.Context, by operators.Editor, at Path, id users.MemberID, role users.Role) error {
	return changeAt(ctx, a.store, at, bind(memberByID, id), func(tx ports.Tx, m users.Member) error {
		return a.grant(ctx, tx, by, at, m, role)
	})
}

func (a *Administration) grant(ctx context.Context, tx ports.Tx, by operators.Editor, at Path, m users.Member, role users.Role) error {
	if m.Role == role {
		return nil
	}
	if err := by.MayChange(m); err != nil {
		return err
	}
	return a.setRole(ctx, tx, by.Actor, at, m, role)
}

// Invite makes a link's token by which a member accepts their role and sets a first or a new
// password. Everyone who has the link can use it. It is valid for operators.InvitationLife and
// once, and ends the organization's earlier link for the member. users.ErrNotFound,
// operators.ErrNoRole, operators.ErrHigherRole. With reset the member has lost the second factor:
// the new password starts without one.
func (a *Administration) Invite(ctx context.Context, by operators.Editor, at Path, id users.MemberID, reset bool) (token string, expires time.Time, err error) {
	err = changeAt(ctx, a.store, at, bind(memberByID, id), func(tx ports.Tx, m users.Member) error {
		token, expires, err = a.invite(ctx, tx, by, at, m, reset)
		return err
	})
	return token, expires, err
}

func (a *Administration) invite(
	ctx context.Context, tx ports.Tx, by operators.Editor, at Path, m users.Member, reset bool,
) (token string, expires time.Time, err error) {
	if err := by.MayChange(m); err != nil {
		return "", time.Time{}, err
	}
	if !(operators.OrganizationAccess{Role: m.Role}).HasRole() {
		return "", time.Time{}, operators.ErrNoRole
	}
	var i operators.Invitation
	i, token = operators.NewInvitation(m, by.Level >= operators.Installation, a.clock.Now())
	i.Resets = reset
	if err := tx.Operators().Invite(ctx, i); err != nil {
		return "", time.Time{}, err
	}
	after := audit.State{"expires": i.Expires.UTC().Format(time.RFC3339)}
	if reset {
		after["resets_factors"] = true
	}
	return token, i.Expires, record(ctx, tx, by.Actor, m.Organization, audit.MemberInvited, memberPath(at, m), nil, after)
}
