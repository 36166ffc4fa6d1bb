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

// Welcome is what a link that an organization handed out is about. It is the same for everybody who
// has the link and is not signed in, whatever accounts the user may have elsewhere.
type Welcome struct {
	User         users.User
	Organization orgs.Organization // that invites
	Joins        bool              // whoever looks is signed in as the user and can accept with their account
	Opens        bool              // their account opens the organization already
	NewPassword  bool              // their password was set through another organization: they must choose another one
}

// Welcome returns what a token's link is about, for somebody who may be signed in;
// operators.ErrInvitation.
func (o *Operators) Welcome(ctx context.Context, token string, v operators.Visitor) (Welcome, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (w Welcome, err error) {
		i, err := o.invitation(ctx, tx, token)
		if err != nil {
			return w, err
		}
		w = Welcome{User: i.User, Organization: i.Place.Organization}
		if v.User.ID != i.User.ID {
			return w, nil
		}
		w.Joins = true
		w.Opens = slices.ContainsFunc(v.Places, func(p operators.Place) bool { return p.Organization.ID == i.Place.Organization.ID })
		account, err := tx.Operators().Account(ctx, v.Account)
		w.NewPassword = i.AsksFor(account.Account)
		return w, err
	})
}

// Accept accepts, for somebody who has a token's link and nothing else, what it is about: it sets
// the password of an account that opens the organization alone, which is made when there is none.
// Nothing changes about accounts of the user that open other organizations, and nothing that can be
// seen depends on them. The link ends, and so do all sessions of the account. The audit log names
// the user as who did it. operators.ErrInvitation.
func (o *Operators) Accept(ctx context.Context, by audit.Actor, token string, p operators.Password) error {
	var i operators.Invited
	err := o.store.View(ctx, func(tx ports.Tx) (err error) {
		i, err = o.invitation(ctx, tx, token)
		return err
	})
	if err != nil { // A password is hashed for those only who have a link.
		return err
	}
	hash, err := o.hashFor(ctx, i.User.Username, p)
	if err != nil {
		return err
	}
	return o.store.Update(ctx, func(tx ports.Tx) error {
		i, err := o.decide(ctx, tx, token)
		if err != nil {
			return err
		}
		of, err := tx.Operators().Accounts(ctx, i.User.Username)
		if err != nil {
			return err
		}
		account := i.Account(of)
		if i.Resets && account.ID != 0 {
			by.Name = i.User.Username
			if err := o.reset(ctx, tx, by, account.ID); err != nil {
				return err
			}
		}
		account.Organization = i.Origin()
		return o.accept(ctx, tx, by, i, account.Renewed(hash, o.clock.Now()), true)
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

// Join accepts what a token's link is about with the account of somebody who is signed in as the
// user, so that one password opens this organization and those before it. Where the password was
// set through another organization they must choose another one. The link ends, and so do all
// sessions of the account. operators.ErrInvitation, operators.ErrAccepted, operators.ErrNoSession.
func (o *Operators) Join(ctx context.Context, by audit.Actor, token string, v operators.Visitor, next *operators.Password) error {
	var hash operators.Hash
	if next != nil {
		var err error
		if hash, err = o.hashFor(ctx, v.User.Username, *next); err != nil {
			return err
		}
	}
	return o.store.Update(ctx, func(tx ports.Tx) error {
		i, err := o.decide(ctx, tx, token)
		if err != nil {
			return err
		}
		held, err := tx.Operators().Account(ctx, v.Account)
		switch {
		case errors.Is(err, operators.ErrNotFound), err == nil && held.User.ID != i.User.ID:
			return operators.ErrNoSession
		case err != nil:
			return err
		case slices.ContainsFunc(held.Places, func(p operators.Place) bool { return p.Organization.ID == i.Place.Organization.ID }):
			return operators.ErrAccepted
		}
		account, asked := held.Account, i.AsksFor(held.Account)
		if asked {
			if hash == "" {
				return operators.ErrOwed
			}
			account.Organization = i.Origin()
			account = account.Renewed(hash, o.clock.Now())
		}
		return o.accept(ctx, tx, by, i, account, asked)
	})
}

// accept makes an account the one that opens the place of an invitation. renewed is whether it has
// another password.
func (o *Operators) accept(ctx context.Context, tx ports.Tx, by audit.Actor, i operators.Invited, account operators.Account, renewed bool) error {
	by.Name = i.User.Username
	before, err := tx.Operators().Acceptance(ctx, i.Member)
	if err != nil {
		return err
	}
	id, err := tx.Operators().Save(ctx, account)
	if err != nil {
		return err
	}
	now := o.clock.Now()
	if err := tx.Operators().Accept(ctx, i.Member, id, now); err != nil {
		return err
	}
	held, err := tx.Operators().Account(ctx, id)
	if err != nil {
		return err
	}
	if err := endInvitations(ctx, tx, held); err != nil {
		return err
	}
	ended, err := tx.Operators().EndAll(ctx, id)
	if err != nil {
		return err
	}
	if err := o.bereave(ctx, tx, before.Account, id); err != nil {
		return err
	}
	if renewed {
		if err := tx.Operators().ForgetDevices(ctx, id, operators.Digest{}); err != nil {
			return err
		}
		if err := recordAccount(ctx, tx, by, now, audit.PasswordSet, held.Account, audit.State{"invited_to": i.Place.Organization.Slug, "sessions_ended": ended}); err != nil {
			return err
		}
	}
	return tx.Audit().Record(ctx, audit.Entry{Organization: i.Place.Organization.ID, Actor: by, At: now, Action: audit.MemberAccepted,
		Object: Path{Organization: i.Place.Organization.Slug}.Object("u", i.User.Username), After: audit.State{"role": string(i.Place.Role)}})
}

// bereave ends the sessions of an account that opened an organization until another account took
// over, and drops it when it opens nothing any more and the organization's link had made it.
func (o *Operators) bereave(ctx context.Context, tx ports.Tx, id, heir operators.AccountID) error {
	if id == 0 || id == heir {
		return nil
	}
	h, err := tx.Operators().Account(ctx, id)
	if err != nil {
		return err
	}
	if len(h.Places) == 0 && !h.Administrator && h.Organization != 0 {
		return tx.Operators().Drop(ctx, id)
	}
	_, err = tx.Operators().EndAll(ctx, id)
	return err
}

// invitation finds what a token is about, if it still holds: things may have changed since somebody
// invited.
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

// decide is invitation for whoever decides about the user.
func (o *Operators) decide(ctx context.Context, tx ports.Tx, token string) (operators.Invited, error) {
	i, err := o.invitation(ctx, tx, token)
	if err != nil {
		return i, err
	}
	return i, tx.Operators().Decide(ctx, i.User.ID)
}
