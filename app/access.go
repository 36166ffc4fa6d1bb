package app

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Access is what an officer sees of whether a member can sign in.
type Access struct {
	CanSignIn bool
	Changed   time.Time // when the password was set
	Grant     error     // why the officer may not give a role; nil when they may
	Invite    error     // why the officer may not have a password set
}

// Access tells whether a member can sign in and what the officer may do about it; users.ErrNotFound.
func (a *Administration) Access(ctx context.Context, by operators.Officer, at Path, id users.MemberID) (found Access, err error) {
	err = a.store.View(ctx, func(tx ports.Tx) error {
		m, account, err := accountOf(ctx, tx, at, id)
		if err != nil {
			return err
		}
		places, err := tx.Operators().Places(ctx, m.User.ID)
		if err != nil {
			return err
		}
		found = Access{CanSignIn: account.Hash != "", Changed: account.Changed, Grant: by.MayGrant(account, m.Organization),
			Invite: by.MayInvite(account, places, m.Organization)}
		return nil
	})
	return found, err
}

// accountOf finds a member and the account, of which only the identity is set when there is none yet.
func accountOf(ctx context.Context, tx ports.Tx, at Path, id users.MemberID) (m users.Member, account operators.Account, err error) {
	if m, err = memberByID(ctx, tx, at, id); err != nil {
		return m, account, err
	}
	account, err = tx.Operators().Account(ctx, m.User.Username)
	if errors.Is(err, operators.ErrNotFound) {
		account, err = operators.Account{User: m.User}, nil
	}
	return m, account, err
}

// Grant gives a member a role in the organization; repeating it changes nothing. users.ErrNotFound, operators.ErrAbove, operators.ErrForeign.
func (a *Administration) Grant(ctx context.Context, by operators.Officer, at Path, id users.MemberID, role users.Role) error {
	return a.store.Update(ctx, func(tx ports.Tx) error {
		m, account, err := accountOf(ctx, tx, at, id)
		if err != nil || m.Role == role {
			return err
		}
		if err := by.MayChange(m); err != nil {
			return err
		}
		if role != users.RoleMember { // To take a role away nothing stands in the way.
			if err := by.MayGrant(account, m.Organization); err != nil {
				return err
			}
		}
		return a.setRole(ctx, tx, by.Actor, at, m, role)
	})
}

// Invite makes a link's token by which a member sets a password, a first one or another one; whoever has it can. It holds for
// operators.InvitationLife and once, and ends those that the member was given before. users.ErrNotFound, operators.ErrNoRole, operators.ErrAbove,
// operators.ErrShared.
func (a *Administration) Invite(ctx context.Context, by operators.Officer, at Path, id users.MemberID) (token string, expires time.Time, err error) {
	err = a.store.Update(ctx, func(tx ports.Tx) error {
		m, account, err := accountOf(ctx, tx, at, id)
		if err != nil {
			return err
		}
		if err := by.MayChange(m); err != nil {
			return err
		}
		places, err := tx.Operators().Places(ctx, m.User.ID)
		if err != nil {
			return err
		}
		if err := by.MayInvite(account, places, m.Organization); err != nil {
			return err
		}
		var i operators.Invitation
		i, token = operators.NewInvitation(m, by.Right >= operators.Installation, a.clock.Now())
		expires = i.Expires
		if err := tx.Operators().Invite(ctx, i); err != nil {
			return err
		}
		return tx.Audit().Record(ctx, audit.Entry{Organization: m.Organization, Actor: by.Actor, At: a.clock.Now(), Action: audit.MemberInvited,
			Object: memberPath(at, m), After: audit.State{"expires": i.Expires.UTC().Format(time.RFC3339), "could_sign_in": account.Hash != ""}})
	})
	return token, expires, err
}
