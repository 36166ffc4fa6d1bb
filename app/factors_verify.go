package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// PendingSignIn is a sign-in that waits for a second factor.
type PendingSignIn struct {
	Username string
	factors.Enabled
}

// PendingSignIn returns the sign-in of a step that SignIn began; factors.ErrStep.
func (f *Factors) PendingSignIn(ctx context.Context, step string) (PendingSignIn, error) {
	return ports.View(ctx, f.store, func(tx ports.Tx) (a PendingSignIn, err error) {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return a, err
		}
		account, err := tx.Operators().Account(ctx, s.Account)
		if err != nil {
			return a, stepError(err)
		}
		a.Username = account.User.Username
		a.Enabled, err = tx.Factors().Enabled(ctx, s.Account)
		return a, err
	})
}

// VerifyCode begins the session of a user who has given the right password and now a code of their
// authenticator app or a recovery code. Wrong codes count like wrong passwords, but for all
// networks together. factors.ErrStep, factors.ErrCode about `code`, operators.TooManyError.
func (f *Factors) VerifyCode(ctx context.Context, by audit.Actor, from operators.Origin, step, code string) (a SignInResult, err error) {
	var account operators.AccountAccess
	err = f.store.View(ctx, func(tx ports.Tx) error {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return err
		}
		account, err = tx.Operators().Account(ctx, s.Account)
		return stepError(err)
	})
	if err != nil {
		return SignInResult{}, err
	}
	by.Name = account.User.Username
	err = f.operators.tryCode(ctx, by, from, account, code, func(tx ports.Tx, account operators.AccountAccess) error {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return err
		}
		if err := endStep(ctx, tx, s); err != nil {
			return err
		}
		a, err = f.operators.startSession(ctx, tx, by, account, from, operators.ByPasswordAndCode)
		return err
	})
	return a, err
}

// tryCode checks a code of an account and then runs a function. factors.ErrCode about `code`,
// operators.TooManyError.
func (o *Operators) tryCode(
	ctx context.Context, by audit.Actor, from operators.Origin, of operators.AccountAccess, code string, do func(tx ports.Tx, account operators.AccountAccess) error,
) error {
	g := codeAttempt(by, from, of)
	if err := o.store.View(ctx, func(tx ports.Tx) error { return g.load(ctx, tx, o.clock.Now()) }); err != nil {
		return err
	}
	if err := o.countAttempt(ctx, g); err != nil {
		return err
	}
	right := false
	err := o.store.Update(ctx, func(tx ports.Tx) error {
		// Only one of two concurrent requests with the same code succeeds.
		if err := tx.Operators().LockUser(ctx, of.User.ID); err != nil {
			return err
		}
		account, err := tx.Operators().Account(ctx, of.ID)
		if err != nil {
			return stepError(err)
		}
		if right, err = o.takeCode(ctx, tx, g.by, account, code); err != nil {
			return err
		}
		if !right {
			return o.recordFailure(ctx, tx, g, audit.FactorFailed)
		}
		if err := tx.Operators().ForgetAttempts(ctx, g.key); err != nil {
			return err
		}
		return do(tx, account)
	})
	if err == nil && !right {
		err = factors.ErrCode.On("code")
	}
	return err
}

// takeCode reports whether a code is valid, and uses it up.
func (o *Operators) takeCode(ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess, code string) (bool, error) {
	now := o.clock.Now()
	if digest, is := factors.ParseRecoveryCode(code); is {
		err := tx.Factors().UseRecoveryCode(ctx, account.ID, digest)
		if errors.Is(err, factors.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		held, err := tx.Factors().Enabled(ctx, account.ID)
		if err != nil {
			return false, err
		}
		return true, recordHolder(ctx, tx, by, now, audit.RecoveryCodeUsed, []operators.AccountAccess{account}, audit.State{"left": held.Recovery})
	}
	app, err := tx.Factors().TOTP(ctx, account.ID)
	if errors.Is(err, factors.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	app, right := app.Verify(code, now)
	if !right {
		return false, nil
	}
	return true, tx.Factors().UseTOTP(ctx, app)
}

// endSecondFactorSteps ends the steps of users who gave the earlier password of an account.
func endSecondFactorSteps(ctx context.Context, tx ports.Tx, a operators.AccountID) error {
	return tx.Factors().EndSteps(ctx, a, factors.SecondFactor)
}

// endStep ends a step; factors.ErrStep if another request has ended it.
func endStep(ctx context.Context, tx ports.Tx, s factors.Step) error {
	first, err := tx.Factors().End(ctx, s.Digest)
	if err == nil && !first {
		err = factors.ErrStep
	}
	return err
}

// stepError turns the error of a missing account into that of an ended step.
func stepError(err error) error {
	if errors.Is(err, operators.ErrNotFound) {
		return factors.ErrStep
	}
	return err
}
