package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// Asked is what a user has to show after the right password.
type Asked struct {
	Username string
	factors.Held
}

// Asked returns what a step that SignIn began requires; factors.ErrStep.
func (f *Factors) Asked(ctx context.Context, step string) (Asked, error) {
	return ports.View(ctx, f.store, func(tx ports.Tx) (a Asked, err error) {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return a, err
		}
		account, err := tx.Operators().Account(ctx, s.Account)
		if err != nil {
			return a, orStep(err)
		}
		a.Username = account.User.Username
		a.Held, err = tx.Factors().Held(ctx, s.Account)
		return a, err
	})
}

// ShowCode begins the session of a user who has given the right password and now a code of their
// authenticator app or a recovery code. Wrong codes count like wrong passwords, but for all
// networks together. factors.ErrStep, factors.ErrCode about `code`, operators.TooMany.
func (f *Factors) ShowCode(ctx context.Context, by audit.Actor, from operators.Origin, step, code string) (a Admission, err error) {
	var account operators.Holding
	err = f.store.View(ctx, func(tx ports.Tx) error {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return err
		}
		account, err = tx.Operators().Account(ctx, s.Account)
		return orStep(err)
	})
	if err != nil {
		return Admission{}, err
	}
	by.Name = account.User.Username
	err = f.operators.tryCode(ctx, by, from, account, code, func(tx ports.Tx, account operators.Holding) error {
		s, err := f.step(ctx, tx, factors.SecondFactor, step)
		if err != nil {
			return err
		}
		if first, err := tx.Factors().End(ctx, s.Digest); err != nil || !first {
			return errors.Join(err, factors.ErrStep)
		}
		a, err = f.operators.admit(ctx, tx, by, account, from, operators.ByPasswordAndCode)
		return err
	})
	return a, err
}

// tryCode checks a code of an account and then runs a function. factors.ErrCode about `code`,
// operators.TooMany.
func (o *Operators) tryCode(
	ctx context.Context, by audit.Actor, from operators.Origin, of operators.Holding, code string, do func(tx ports.Tx, account operators.Holding) error,
) error {
	g := codeAttempt(by, from, of)
	if err := o.store.View(ctx, func(tx ports.Tx) error { return g.look(ctx, tx, o.clock.Now()) }); err != nil {
		return err
	}
	if err := o.count(ctx, g); err != nil {
		return err
	}
	right := false
	err := o.store.Update(ctx, func(tx ports.Tx) error {
		// Of two requests with the same code at the same time, only one succeeds.
		if err := tx.Operators().Decide(ctx, of.User.ID); err != nil {
			return err
		}
		account, err := tx.Operators().Account(ctx, of.ID)
		if err != nil {
			return orStep(err)
		}
		if right, err = o.takeCode(ctx, tx, g.by, account, code); err != nil {
			return err
		}
		if !right {
			return o.wrong(ctx, tx, g, audit.FactorFailed)
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
func (o *Operators) takeCode(ctx context.Context, tx ports.Tx, by audit.Actor, account operators.Holding, code string) (bool, error) {
	now := o.clock.Now()
	if digest, is := factors.ParseRecoveryCode(code); is {
		err := tx.Factors().UseRecoveryCode(ctx, account.ID, digest)
		if errors.Is(err, factors.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		held, err := tx.Factors().Held(ctx, account.ID)
		if err != nil {
			return false, err
		}
		return true, recordHolder(ctx, tx, by, now, audit.RecoveryCodeUsed, []operators.Holding{account}, audit.State{"left": held.Recovery})
	}
	app, err := tx.Factors().TOTP(ctx, account.ID)
	if errors.Is(err, factors.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	app, right := app.Take(code, now)
	if !right {
		return false, nil
	}
	return true, tx.Factors().UseTOTP(ctx, app)
}

// orStep turns the error of a missing account into that of an ended step.
func orStep(err error) error {
	if errors.Is(err, operators.ErrNotFound) {
		return factors.ErrStep
	}
	return err
}
