package app

import (
	"context"
	"errors"
	"slices"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// InvitationReport is what an organization's link shows. It is the same for everyone who has the
// link and is not signed in, whatever accounts the user may have elsewhere.
type InvitationReport struct {
	User         users.User
	Organization orgs.Organization // that invites
	Joins        bool              // the viewer is signed in as the user and can accept with their account
	Opens        bool              // their account opens the organization already
	NewPassword  bool              // another organization's link opened the account: they must choose a new password
	Passwordless bool              // the account has no password
}

// ShowInvitation returns what a token's link shows to a user who may be signed in;
// operators.ErrInvitation.
func (o *Operators) ShowInvitation(ctx context.Context, token string, v operators.Principal) (InvitationReport, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (w InvitationReport, err error) {
		i, err := o.invitation(ctx, tx, token)
		if err != nil {
			return w, err
		}
		w = InvitationReport{User: i.User, Organization: i.Access.Organization}
		if v.User.ID != i.User.ID {
			return w, nil
		}
		w.Joins = true
		w.Opens = slices.ContainsFunc(v.Organizations, func(p operators.OrganizationAccess) bool { return p.Organization.ID == i.Access.Organization.ID })
		account, err := tx.Operators().Account(ctx, v.Account)
		w.NewPassword, w.Passwordless = i.NeedsNewPassword(account.Account), account.Hash == ""
		return w, err
	})
}

// Accept accepts an invitation for a user who has only the link of a token: it sets the password of
// an account that opens this organization alone, and makes the account if there is none. It neither
// changes nor reveals the user's accounts for other organizations. The link ends, and so do all
// sessions of the account. Then it begins a session of this account, or its second factor, as
// SignIn does, but never asks which accounts have this password: the answer would tell about the
// others. Where passwords begin no session, the result is empty. The audit log names the user as
// the actor. operators.ErrInvitation.
func (o *Operators) Accept(ctx context.Context, by audit.Actor, from operators.Origin, token string, p operators.Password) (SignInResult, error) {
	i, err := ports.View(ctx, o.store, func(tx ports.Tx) (operators.Invited, error) {
		return o.invitation(ctx, tx, token)
	})
	if err != nil { // Only a valid link gets a password hashed.
		return SignInResult{}, err
	}
	hash, err := o.hashFor(ctx, i.User.Username, p)
	if err != nil {
		return SignInResult{}, err
	}
	return ports.Update(ctx, o.store, func(tx ports.Tx) (SignInResult, error) {
		i, err := o.lockInvitation(ctx, tx, token)
		if err != nil {
			return SignInResult{}, err
		}
		by.Name = i.User.Username
		of, err := tx.Operators().Accounts(ctx, i.User.Username)
		if err != nil {
			return SignInResult{}, err
		}
		account := i.Account(of)
		if i.Resets && account.ID != 0 {
			if err := o.reset(ctx, tx, by, account.ID); err != nil {
				return SignInResult{}, err
			}
		}
		account.Organization = i.Origin()
		held, err := o.accept(ctx, tx, by, i, account.WithPassword(hash, operators.PasswordTime(of, o.clock.Now())), true)
		if err != nil || !o.policy.Allows(held.Account, operators.ByPassword) {
			return SignInResult{}, err
		}
		return o.admit(ctx, tx, by, held, from)
	})
}

// reset removes the second factors of an account.
func (o *Operators) reset(ctx context.Context, tx ports.Tx, by audit.Actor, id operators.AccountID) error {
	held, err := tx.Operators().Account(ctx, id)
	if err != nil {
		return err
	}
	_, err = resetFactors(ctx, tx, by, held, o.clock.Now())
	return err
}

// Join accepts an invitation with the account of a user who is signed in, so that one password
// opens this organization and the earlier ones. If the link of another organization opened the
// account, they must choose a new password, not the old one again, and its second factors are
// removed: people of the other organization may have added them. The link ends, and so do all
// sessions of the account. operators.ErrInvitation, operators.ErrAccepted, operators.ErrNoSession,
// operators.ErrNewPasswordRequired.
func (o *Operators) Join(ctx context.Context, by audit.Actor, token string, v operators.Principal, next *operators.Password) error {
	var hash, same operators.Hash
	if next != nil {
		var err error
		if hash, err = o.hashFor(ctx, v.User.Username, *next); err != nil {
			return err
		}
		if same, err = o.sameHash(ctx, v.Account, *next); err != nil {
			return err
		}
	}
	return o.store.Update(ctx, func(tx ports.Tx) error {
		i, err := o.lockInvitation(ctx, tx, token)
		if err != nil {
			return err
		}
		held, err := tx.Operators().Account(ctx, v.Account)
		switch {
		case errors.Is(err, operators.ErrNotFound), err == nil && held.User.ID != i.User.ID:
			return operators.ErrNoSession
		case err != nil:
			return err
		case slices.ContainsFunc(held.Organizations, func(p operators.OrganizationAccess) bool { return p.Organization.ID == i.Access.Organization.ID }):
			return operators.ErrAccepted
		}
		account, asked := held.Account, i.NeedsNewPassword(held.Account)
		if asked {
			if hash == "" || (same != "" && same == account.Hash) {
				return operators.ErrNewPasswordRequired
			}
			by.Name = i.User.Username
			if err := o.reset(ctx, tx, by, account.ID); err != nil {
				return err
			}
			of, err := tx.Operators().Accounts(ctx, i.User.Username)
			if err != nil {
				return err
			}
			account.Organization = i.Origin()
			account = account.WithPassword(hash, operators.PasswordTime(of, o.clock.Now()))
		}
		_, err = o.accept(ctx, tx, by, i, account, asked)
		return err
	})
}

// accept makes an account the one that opens the organization of an invitation, and returns it.
// renewed is whether it has another password.
func (o *Operators) accept(ctx context.Context, tx ports.Tx, by audit.Actor, i operators.Invited, account operators.Account, renewed bool) (held operators.AccountAccess, err error) {
	by.Name = i.User.Username
	before, err := tx.Operators().Acceptance(ctx, i.Member)
	if err != nil {
		return held, err
	}
	id, err := tx.Operators().Save(ctx, account)
	if err != nil {
		return held, err
	}
	now := o.clock.Now()
	if err := tx.Operators().Accept(ctx, i.Member, id, now); err != nil {
		return held, err
	}
	if held, err = tx.Operators().Account(ctx, id); err != nil {
		return held, err
	}
	if err := errors.Join(endInvitations(ctx, tx, held), endSecondFactorSteps(ctx, tx, id)); err != nil {
		return held, err
	}
	ended, err := tx.Operators().EndAll(ctx, id)
	if err != nil {
		return held, err
	}
	if err := o.retireAccount(ctx, tx, before.Account, id); err != nil {
		return held, err
	}
	if renewed {
		if err := tx.Operators().ForgetDevices(ctx, id, operators.Digest{}); err != nil {
			return held, err
		}
		if err := recordAccount(ctx, tx, by, now, audit.PasswordSet, held.Account, audit.State{"invited_to": i.Access.Organization.Slug, "sessions_ended": ended}); err != nil {
			return held, err
		}
	}
	object := Path{Organization: i.Access.Organization.Slug}.Object("u", i.User.Username)
	return held, record(ctx, tx, by, i.Access.Organization.ID, audit.MemberAccepted, object, nil, audit.State{"role": string(i.Access.Role)})
}

// retireAccount ends the sessions of an account that another one has replaced in an organization,
// and deletes it when it opens nothing else and was made by the organization's link.
func (o *Operators) retireAccount(ctx context.Context, tx ports.Tx, id, replacement operators.AccountID) error {
	if id == 0 || id == replacement {
		return nil
	}
	h, err := tx.Operators().Account(ctx, id)
	if err != nil {
		return err
	}
	if len(h.Organizations) == 0 && !h.Administrator && h.Organization != 0 {
		return tx.Operators().DeleteAccount(ctx, id)
	}
	_, err = tx.Operators().EndAll(ctx, id)
	return err
}

// invitation finds the invitation of a token, if it is still valid: things may have changed since
// it was made.
func (o *Operators) invitation(ctx context.Context, tx ports.Tx, token string) (operators.Invited, error) {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return operators.Invited{}, operators.ErrInvitation
	}
	i, err := tx.Operators().Invitation(ctx, digest)
	if err == nil && !i.Valid(o.clock.Now()) {
		err = operators.ErrInvitation
	}
	return i, err
}

// lockInvitation is invitation for a caller that decides about the user.
func (o *Operators) lockInvitation(ctx context.Context, tx ports.Tx, token string) (operators.Invited, error) {
	i, err := o.invitation(ctx, tx, token)
	if err != nil {
		return i, err
	}
	return i, tx.Operators().LockUser(ctx, i.User.ID)
}
