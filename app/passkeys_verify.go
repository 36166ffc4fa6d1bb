package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// BeginPasskeySignIn asks for a passkey of any account, to sign in with nothing else;
// factors.ErrPasskeysOff.
func (f *Factors) BeginPasskeySignIn(ctx context.Context) (PasskeyChallenge, error) {
	return f.begin(ctx, factors.SignIn, func(ports.Tx) (operators.AccountID, []byte, []byte, error) {
		asked, held, err := f.authenticators.BeginAssertion(factors.Owner{})
		return 0, asked, held, err
	})
}

// BeginSecondFactor asks a user who has given the right password for one of their passkeys;
// factors.ErrStep, factors.ErrNotFound, factors.ErrPasskeysOff.
func (f *Factors) BeginSecondFactor(ctx context.Context, step string) (PasskeyChallenge, error) {
	return f.begin(ctx, factors.VerifyPasskey, func(tx ports.Tx) (operators.AccountID, []byte, []byte, error) {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return 0, nil, nil, err
		}
		return f.requestPasskey(ctx, tx, s.Account)
	})
}

// BeginReauthentication asks a signed-in user for one of their passkeys; factors.ErrNotFound,
// factors.ErrPasskeysOff.
func (f *Factors) BeginReauthentication(ctx context.Context, v operators.Principal) (PasskeyChallenge, error) {
	return f.begin(ctx, factors.VerifyPasskey, func(tx ports.Tx) (operators.AccountID, []byte, []byte, error) {
		return f.requestPasskey(ctx, tx, v.Account)
	})
}

// requestPasskey asks for a passkey of an account.
func (f *Factors) requestPasskey(ctx context.Context, tx ports.Tx, a operators.AccountID) (of operators.AccountID, asked, held []byte, err error) {
	o, err := ownerOf(ctx, tx, a, "")
	if err == nil && len(o.Passkeys) == 0 {
		err = factors.ErrNotFound
	}
	if err != nil {
		return 0, nil, nil, err
	}
	asked, held, err = f.authenticators.BeginAssertion(o)
	return a, asked, held, err
}

// SignIn begins a session with a passkey and nothing else; factors.ErrStep, factors.ErrPasskey.
func (f *Factors) SignIn(ctx context.Context, by audit.Actor, from operators.Origin, step string, answer []byte) (a SignInResult, err error) {
	err = f.withAssertion(ctx, by, factors.SignIn, step, answer, func(tx ports.Tx, by audit.Actor, account operators.AccountAccess) error {
		a, err = f.operators.startSession(ctx, tx, by, account, from, operators.ByPasskey)
		return err
	})
	return a, err
}

// VerifyPasskey begins the session of a user who has given the right password, and now one of their
// passkeys. step is from the password, asked from BeginSecondFactor. factors.ErrStep,
// factors.ErrPasskey.
func (f *Factors) VerifyPasskey(ctx context.Context, by audit.Actor, from operators.Origin, step, asked string, answer []byte) (a SignInResult, err error) {
	err = f.withAssertion(ctx, by, factors.VerifyPasskey, asked, answer, func(tx ports.Tx, by audit.Actor, account operators.AccountAccess) error {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return err
		}
		if s.Account != account.ID {
			return factors.ErrStep
		}
		if err := endStep(ctx, tx, s); err != nil {
			return err
		}
		a, err = f.operators.startSession(ctx, tx, by, account, from, operators.ByPasswordAndPasskey)
		return err
	})
	return a, err
}

// Reauthenticate confirms the identity of a session's holder by one of their passkeys.
// factors.ErrStep, factors.ErrPasskey, operators.ErrNoSession.
func (f *Factors) Reauthenticate(ctx context.Context, by audit.Actor, session, asked string, answer []byte) error {
	digest, err := operators.ParseToken(session)
	if err != nil {
		return err
	}
	return f.withAssertion(ctx, by, factors.VerifyPasskey, asked, answer, func(tx ports.Tx, by audit.Actor, account operators.AccountAccess) error {
		s, _, err := validSession(ctx, tx, digest, f.clock.Now())
		if err != nil {
			return err
		}
		if s.Account != account.ID {
			return factors.ErrStep
		}
		return f.operators.recordReauthentication(ctx, tx, by, s, account, operators.ByPasskey)
	})
}

// withAssertion checks the answer of a passkey and then runs a function. A step takes one answer,
// right or wrong. factors.ErrStep, factors.ErrPasskey.
func (f *Factors) withAssertion(
	ctx context.Context, by audit.Actor, p factors.Purpose, step string, answer []byte, do func(tx ports.Tx, by audit.Actor, account operators.AccountAccess) error,
) error {
	if f.authenticators == nil {
		return factors.ErrPasskeysOff
	}
	refused, err := ports.Update(ctx, f.store, func(tx ports.Tx) (error, error) {
		s, err := f.step(ctx, tx, p, step)
		if err != nil {
			return nil, err
		}
		if err := endStep(ctx, tx, s); err != nil {
			return nil, err
		}
		account, err := f.verifyAssertion(ctx, tx, by, s, answer)
		if errors.Is(err, factors.ErrPasskey) {
			return err, nil // Records of the attempt stay.
		}
		if err != nil {
			return nil, err
		}
		by.Name = account.User.Username
		return nil, do(tx, by, account)
	})
	if err == nil {
		err = refused
	}
	return err
}

// verifyAssertion returns the account of the passkey that answered a step; factors.ErrPasskey.
// Concurrent answers of one passkey run one after the other, so each sees the counter of the one
// before.
func (f *Factors) verifyAssertion(ctx context.Context, tx ports.Tx, by audit.Actor, s factors.Step, answer []byte) (account operators.AccountAccess, err error) {
	now := f.clock.Now()
	shown, err := f.authenticators.FinishAssertion(s.Data, answer, func(credential []byte) (o factors.Owner, err error) {
		p, err := tx.Factors().Passkey(ctx, credential)
		if err != nil {
			return factors.Owner{}, err
		}
		if s.Account != 0 && p.Account != s.Account {
			return factors.Owner{}, factors.ErrNotFound
		}
		if account, err = tx.Operators().Account(ctx, p.Account); err != nil {
			return factors.Owner{}, err
		}
		if err := tx.Operators().LockUser(ctx, account.User.ID); err != nil {
			return factors.Owner{}, err
		}
		o, err = ownerOf(ctx, tx, p.Account, account.User.Username)
		o.Handle = p.Handle
		return o, err
	})
	by.Name = account.User.Username
	switch {
	case errors.Is(err, factors.ErrPasskey) && account.ID == 0: // It belongs to no account, so it is not recorded.
		return operators.AccountAccess{}, err
	case errors.Is(err, factors.ErrPasskey):
		if err := recordHolder(ctx, tx, by, now, audit.FactorFailed, []operators.AccountAccess{account}, audit.State{"factor": passkeyFactor}); err != nil {
			return operators.AccountAccess{}, err
		}
		return operators.AccountAccess{}, err
	case err != nil:
		return operators.AccountAccess{}, err
	}
	before, err := passkey(ctx, tx, account.ID, shown.ID)
	if err != nil {
		return operators.AccountAccess{}, err
	}
	if shown.Blocked {
		action, after := audit.FactorFailed, audit.State{"factor": passkeyFactor, "name": shown.Name}
		if !before.Blocked {
			action = audit.PasskeyBlocked
			if err := tx.Factors().UsePasskey(ctx, shown); err != nil {
				return operators.AccountAccess{}, err
			}
			if after["sessions_ended"], err = tx.Operators().EndAll(ctx, account.ID); err != nil { // One may be that of the copy.
				return operators.AccountAccess{}, err
			}
		}
		if err := recordHolder(ctx, tx, by, now, action, []operators.AccountAccess{account}, after); err != nil {
			return operators.AccountAccess{}, err
		}
		return operators.AccountAccess{}, factors.ErrPasskey
	}
	shown.Used = now
	return account, tx.Factors().UsePasskey(ctx, shown)
}
