package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// Factors is the use cases on second factors: setting them up, using them, and removing them.
type Factors struct {
	operators      *Operators
	authenticators factors.Authenticators
	store          ports.Store
	clock          ports.Clock
	required       bool
}

// NewFactors returns the use cases on second factors. If a is nil, there are no passkeys. required
// is whether the installation requires a second factor of its administrators.
func NewFactors(o *Operators, a factors.Authenticators, required bool) *Factors {
	return &Factors{operators: o, authenticators: a, store: o.store, clock: o.clock, required: required}
}

// AccountFactors are the second factors of an account.
type AccountFactors struct {
	factors.Enabled
	AppSince time.Time // when the authenticator app was set up
	AppUsed  time.Time
}

// OfAccount returns the second factors of the signed-in user's account.
func (f *Factors) OfAccount(ctx context.Context, v operators.Principal) (AccountFactors, error) {
	return ports.View(ctx, f.store, func(tx ports.Tx) (h AccountFactors, err error) {
		if h.Enabled, err = tx.Factors().Enabled(ctx, v.Account); err != nil || !h.TOTP {
			return h, err
		}
		app, err := tx.Factors().TOTP(ctx, v.Account)
		if errors.Is(err, factors.ErrSealed) { // It can still be removed.
			return h, nil
		}
		h.AppSince, h.AppUsed = app.Created, app.Used
		return h, err
	})
}

// BeginApp makes the secret of a new authenticator app, and the token for ConfirmApp;
// factors.ErrExists.
func (f *Factors) BeginApp(ctx context.Context, v operators.Principal) (secret factors.Secret, token string, err error) {
	secret = factors.NewSecret()
	err = f.store.Update(ctx, func(tx ports.Tx) error {
		held, err := tx.Factors().Enabled(ctx, v.Account)
		if err != nil {
			return err
		}
		if held.TOTP {
			return factors.ErrExists
		}
		var s factors.Step
		s, token = factors.NewStep(factors.SetUpTOTP, v.Account, []byte(string(secret)), f.clock.Now())
		return errors.Join(tx.Factors().Sweep(ctx, f.clock.Now()), tx.Factors().Begin(ctx, s))
	})
	return secret, token, err
}

// BegunApp returns the secret that BeginApp made; factors.ErrStep.
func (f *Factors) BegunApp(ctx context.Context, v operators.Principal, token string) (factors.Secret, error) {
	return ports.View(ctx, f.store, func(tx ports.Tx) (secret factors.Secret, err error) {
		s, err := f.step(ctx, tx, factors.SetUpTOTP, token)
		if err == nil && s.Account != v.Account {
			err = factors.ErrStep
		}
		secret = factors.Secret(s.Data)
		return secret, err
	})
}

// ConfirmApp sets up the authenticator app of a secret from BeginApp, when the user enters a code
// of it. It returns the recovery codes of the account, if it had none; they are shown only once.
// The account's other sessions end, and this one counts as begun with a second factor.
// factors.ErrStep, factors.ErrExists, factors.ErrCode about `code`.
func (f *Factors) ConfirmApp(ctx context.Context, by audit.Actor, v operators.Principal, session, token, code string) ([]string, error) {
	return ports.Update(ctx, f.store, func(tx ports.Tx) ([]string, error) {
		s, err := f.step(ctx, tx, factors.SetUpTOTP, token)
		if err != nil {
			return nil, err
		}
		if s.Account != v.Account {
			return nil, factors.ErrStep
		}
		if err := tx.Operators().LockUser(ctx, v.User.ID); err != nil {
			return nil, err
		}
		held, err := tx.Factors().Enabled(ctx, v.Account)
		if err != nil {
			return nil, err
		}
		if held.TOTP {
			return nil, factors.ErrExists
		}
		app, err := factors.Confirm(v.Account, factors.Secret(s.Data), code, f.clock.Now())
		if err != nil {
			return nil, err
		}
		if _, err := tx.Factors().End(ctx, s.Digest); err != nil {
			return nil, err
		}
		if err := tx.Factors().SaveTOTP(ctx, app); err != nil {
			return nil, err
		}
		return f.added(ctx, tx, by, v, session, audit.State{"factor": appFactor}, operators.ByPasswordAndCode)
	})
}

// added does what follows every new factor. It returns recovery codes for an account that has none.
func (f *Factors) added(
	ctx context.Context, tx ports.Tx, by audit.Actor, v operators.Principal, session string, after audit.State, m operators.Method,
) (codes []string, err error) {
	digest, err := operators.ParseToken(session)
	if err != nil {
		return nil, err
	}
	now := f.clock.Now()
	s, account, err := validSession(ctx, tx, digest, now)
	if err != nil {
		return nil, err
	}
	if s.Account != v.Account {
		return nil, operators.ErrNoSession
	}
	if s.Method == operators.ByPassword {
		if err := tx.Operators().Authenticated(ctx, digest, m, now); err != nil {
			return nil, err
		}
	}
	ended, err := tx.Operators().EndOthers(ctx, v.Account, digest)
	if err != nil {
		return nil, err
	}
	held, err := tx.Factors().Enabled(ctx, v.Account)
	if err != nil {
		return nil, err
	}
	if held.Recovery == 0 {
		if codes, err = f.recovery(ctx, tx, v.Account); err != nil {
			return nil, err
		}
	}
	after["sessions_ended"] = ended
	return codes, recordHolder(ctx, tx, by, now, audit.FactorAdded, []operators.AccountAccess{account}, after)
}

// recovery replaces the recovery codes of an account.
func (f *Factors) recovery(ctx context.Context, tx ports.Tx, a operators.AccountID) ([]string, error) {
	codes, digests := factors.NewRecoveryCodes()
	return codes, tx.Factors().SetRecoveryCodes(ctx, a, digests)
}

// RenewRecoveryCodes gives the signed-in user's account new recovery codes, which are shown only
// once; the earlier ones stop working. factors.ErrNotFound for an account without a second factor.
func (f *Factors) RenewRecoveryCodes(ctx context.Context, by audit.Actor, v operators.Principal) (codes []string, err error) {
	err = f.change(ctx, v, func(tx ports.Tx, account operators.AccountAccess) error {
		held, err := tx.Factors().Enabled(ctx, v.Account)
		if err != nil {
			return err
		}
		if !held.Any() {
			return factors.ErrNotFound
		}
		if codes, err = f.recovery(ctx, tx, v.Account); err != nil {
			return err
		}
		return recordHolder(ctx, tx, by, f.clock.Now(), audit.RecoveryCodesRenewed, []operators.AccountAccess{account}, nil)
	})
	return codes, err
}

// RemoveApp removes the authenticator app of the signed-in user's account; factors.ErrNotFound.
func (f *Factors) RemoveApp(ctx context.Context, by audit.Actor, v operators.Principal, session string) error {
	return f.change(ctx, v, func(tx ports.Tx, account operators.AccountAccess) error {
		if err := tx.Factors().RemoveTOTP(ctx, v.Account); err != nil {
			return err
		}
		return f.removed(ctx, tx, by, account, session, audit.State{"factor": appFactor})
	})
}

// removed does what follows the removal of a factor, and records it. The account's other sessions
// end: the factor may be in other hands. Recovery codes do not outlive the last factor.
// factors.ErrRequired.
func (f *Factors) removed(
	ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess, session string, after audit.State,
) error {
	held, err := tx.Factors().Enabled(ctx, account.ID)
	if err != nil {
		return err
	}
	if held.Passkeys == 0 && account.Hash == "" && !account.Linked() {
		return factors.ErrOnlyKey
	}
	if !held.Any() {
		if err := f.checkRequired(account); err != nil {
			return err
		}
		if err := tx.Factors().SetRecoveryCodes(ctx, account.ID, nil); err != nil {
			return err
		}
	}
	this, err := operators.ParseToken(session)
	if err != nil {
		return err
	}
	if after["sessions_ended"], err = tx.Operators().EndOthers(ctx, account.ID, this); err != nil {
		return err
	}
	return recordHolder(ctx, tx, by, f.clock.Now(), audit.FactorRemoved, []operators.AccountAccess{account}, after)
}

// change runs do with the signed-in user's account locked.
func (f *Factors) change(ctx context.Context, v operators.Principal, do func(tx ports.Tx, account operators.AccountAccess) error) error {
	return f.store.Update(ctx, func(tx ports.Tx) error {
		if err := tx.Operators().LockUser(ctx, v.User.ID); err != nil {
			return err
		}
		account, err := tx.Operators().Account(ctx, v.Account)
		if err != nil {
			return err
		}
		return do(tx, account)
	})
}

// step finds a pending step of this purpose; factors.ErrStep.
func (f *Factors) step(ctx context.Context, tx ports.Tx, p factors.Purpose, token string) (factors.Step, error) {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return factors.Step{}, factors.ErrStep
	}
	s, err := tx.Factors().Step(ctx, digest)
	if err == nil && !s.For(p, f.clock.Now()) {
		err = factors.ErrStep
	}
	return s, err
}

// Reset removes all second factors of every account of a user, and ends their sessions;
// operators.ErrNotFound for a user who cannot sign in. It returns how many accounts had any.
func (f *Factors) Reset(ctx context.Context, by audit.Actor, username string) (int, error) {
	return ports.Update(ctx, f.store, func(tx ports.Tx) (reset int, err error) {
		of, err := lockAccounts(ctx, tx, username)
		if err != nil {
			return reset, err
		}
		for _, account := range of {
			had, err := resetFactors(ctx, tx, by, account, f.clock.Now())
			if err != nil {
				return reset, err
			}
			if had {
				reset++
			}
		}
		return reset, nil
	})
}

// resetFactors removes all second factors of an account, ends its sessions and pending steps, and
// reports whether there were any factors.
func resetFactors(ctx context.Context, tx ports.Tx, by audit.Actor, account operators.AccountAccess, now time.Time) (bool, error) {
	held, err := tx.Factors().Enabled(ctx, account.ID)
	if err != nil || held == (factors.Enabled{}) {
		return false, err
	}
	if err := errors.Join(tx.Factors().RemoveAll(ctx, account.ID), tx.Factors().EndSteps(ctx, account.ID)); err != nil {
		return false, err
	}
	ended, err := tx.Operators().EndAll(ctx, account.ID)
	if err != nil {
		return false, err
	}
	return true, recordHolder(ctx, tx, by, now, audit.FactorsReset, []operators.AccountAccess{account}, audit.State{"sessions_ended": ended})
}

// anyNetwork replaces the network of an attempt: a caller who guesses codes knows the password, so
// their networks do not count separately.
const anyNetwork = "everywhere"

// codeAttempt returns an attempt at the second factor of an account.
func codeAttempt(by audit.Actor, from operators.Origin, account operators.AccountAccess) attempt {
	by.Name = account.User.Username
	return attempt{by: by, username: fmt.Sprintf("second factor of account %d", account.ID), accounts: []operators.AccountAccess{account},
		from: operators.Origin{Network: anyNetwork, Device: from.Device}}
}
