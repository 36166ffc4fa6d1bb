package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// BeginInvitedPasskey begins a passkey with which an invitation is accepted without a password.
// operators.ErrInvitation, factors.ErrHasFactor, factors.ErrPasskeysOff.
func (f *Factors) BeginInvitedPasskey(ctx context.Context, token string) (PasskeyChallenge, error) {
	return f.begin(ctx, factors.SetUpPasskey, func(tx ports.Tx) (of operators.AccountID, asked, held []byte, err error) {
		i, account, err := f.invited(ctx, tx, token)
		if err != nil {
			return 0, nil, nil, err
		}
		asked, held, err = f.authenticators.BeginRegistration(factors.Owner{Handle: factors.NewHandle(), Username: i.User.Username})
		return account.ID, asked, held, err
	})
}

// invited returns the invitation, and the account that a passkey would open. An account keeps its
// factors, unless they are lost: the person who made the invitation may have its link, too, and a
// passkey would bypass the account's other factors.
func (f *Factors) invited(ctx context.Context, tx ports.Tx, token string) (i operators.Invited, a operators.Account, err error) {
	if i, err = f.operators.invitation(ctx, tx, token); err != nil {
		return i, a, err
	}
	of, err := tx.Operators().Accounts(ctx, i.User.Username)
	if err != nil {
		return i, a, err
	}
	if a = i.Account(of); a.ID == 0 || i.Resets {
		return i, a, nil
	}
	held, err := tx.Factors().Enabled(ctx, a.ID)
	if err == nil && held.Any() {
		err = factors.ErrHasFactor
	}
	return i, a, err
}

// AcceptByPasskey accepts the invitation of a token's link with the passkey of BeginInvitedPasskey,
// and begins a session. It is Operators.Accept with a passkey instead of the password: an earlier
// password of the account stops working. operators.ErrInvitation, factors.ErrHasFactor,
// factors.ErrStep, factors.ErrPasskey, factors.ErrExists, operators.ErrSingleSignOnOnly.
func (f *Factors) AcceptByPasskey(ctx context.Context, by audit.Actor, from operators.Origin, token, step, name string, answer []byte) (a SignInResult, err error) {
	if f.authenticators == nil {
		return SignInResult{}, factors.ErrPasskeysOff
	}
	if name, err = factors.PasskeyName(name); err != nil {
		return SignInResult{}, err
	}
	err = f.store.Update(ctx, func(tx ports.Tx) error {
		if _, err := f.operators.lockInvitation(ctx, tx, token); err != nil {
			return err
		}
		i, account, err := f.invited(ctx, tx, token)
		if err != nil {
			return err
		}
		s, err := f.step(ctx, tx, factors.SetUpPasskey, step)
		if err == nil && s.Account != account.ID {
			err = factors.ErrStep
		}
		if err != nil {
			return err
		}
		p, err := f.authenticators.FinishRegistration(s.Data, answer)
		if err != nil {
			return err
		}
		if _, err := tx.Factors().End(ctx, s.Digest); err != nil {
			return err
		}
		by.Name = i.User.Username
		p.Name, p.Created = name, f.clock.Now()
		held, err := f.join(ctx, tx, by, i, account, p)
		if err != nil {
			return err
		}
		a, err = f.operators.startSession(ctx, tx, by, held, from, operators.ByPasskey)
		return err
	})
	return a, err
}

// join makes an account, with this passkey and nothing else, the one that opens the organization of
// an invitation.
func (f *Factors) join(ctx context.Context, tx ports.Tx, by audit.Actor, i operators.Invited, account operators.Account, p factors.Passkey) (operators.AccountAccess, error) {
	if i.Resets && account.ID != 0 {
		if err := f.operators.reset(ctx, tx, by, account.ID); err != nil {
			return operators.AccountAccess{}, err
		}
	}
	account.Organization = i.Origin()
	held, err := f.operators.accept(ctx, tx, by, i, account.WithPassword("", p.Created), false)
	if err != nil {
		return operators.AccountAccess{}, err
	}
	p.Account = held.ID
	if _, err := tx.Factors().AddPasskey(ctx, p); err != nil {
		return operators.AccountAccess{}, err
	}
	return held, errors.Join(tx.Operators().ForgetDevices(ctx, p.Account, operators.Digest{}),
		recordHolder(ctx, tx, by, p.Created, audit.FactorAdded, []operators.AccountAccess{held},
			audit.State{"factor": passkeyFactor, "name": p.Name})) // Not who invited: other organizations read it.
}
