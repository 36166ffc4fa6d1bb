package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// reauthentication shows that the holder of a session knows its account's password.
type reauthentication struct {
	attempt attempt
	session operators.Digest
	matched operators.AccountAccess
}

// checkCurrentPassword checks that the holder of a session knows its account's password. Wrong
// passwords count as at sign-in. operators.ErrPassword about `current`, operators.TooManyError,
// operators.ErrNoSession.
func (o *Operators) checkCurrentPassword(ctx context.Context, by audit.Actor, from operators.Origin, token, current string) (p reauthentication, err error) {
	if p.session, err = operators.ParseToken(token); err != nil {
		return reauthentication{}, err
	}
	p.attempt = attempt{by: by, from: from}
	err = o.store.View(ctx, func(tx ports.Tx) error {
		_, account, err := validSession(ctx, tx, p.session, o.clock.Now())
		if err != nil {
			return err
		}
		p.attempt.accounts, p.attempt.username = []operators.AccountAccess{account}, account.User.Username
		all, err := tx.Operators().Accounts(ctx, account.User.Username)
		if err != nil {
			return err
		}
		p.attempt.others = slices.DeleteFunc(all, func(h operators.AccountAccess) bool { return h.ID == account.ID })
		return p.attempt.load(ctx, tx, o.clock.Now())
	})
	if err != nil {
		return reauthentication{}, err
	}
	p.matched, err = o.checkPassword(ctx, p.attempt, current)
	return p, currentPasswordError(err)
}

// withReauthentication runs do, if the proof is still valid.
func (o *Operators) withReauthentication(ctx context.Context, p reauthentication, do func(tx ports.Tx, s operators.Session, account operators.AccountAccess) error) error {
	return o.store.Update(ctx, func(tx ports.Tx) error {
		return p.run(ctx, tx, o.clock.Now(), func(s operators.Session, account operators.AccountAccess) error { return do(tx, s, account) })
	})
}

// run is withReauthentication within a unit of work.
func (p reauthentication) run(ctx context.Context, tx ports.Tx, now time.Time, do func(s operators.Session, account operators.AccountAccess) error) error {
	s, _, err := validSession(ctx, tx, p.session, now)
	if err != nil {
		return err
	}
	account, err := p.attempt.succeed(ctx, tx, now, p.matched)
	if err != nil {
		return currentPasswordError(err)
	}
	return do(s, account)
}

// currentPasswordError turns a wrong password into a fault of the field for the current password.
func currentPasswordError(err error) error {
	if errors.Is(err, operators.ErrCredentials) {
		return operators.ErrPassword.On("current")
	}
	return err
}

// Reauthenticate confirms the identity of a session's holder before security settings change: by
// the password, and by a code where the account has a second factor. operators.ErrPassword about
// `current`, factors.ErrCode about `code`, operators.TooManyError, operators.ErrNoSession.
func (o *Operators) Reauthenticate(ctx context.Context, by audit.Actor, from operators.Origin, token, current, code string) error {
	p, err := o.checkCurrentPassword(ctx, by, from, token, current)
	if err != nil {
		return err
	}
	held, err := ports.View(ctx, o.store, func(tx ports.Tx) (factors.Enabled, error) {
		return tx.Factors().Enabled(ctx, p.matched.ID)
	})
	if err != nil {
		return err
	}
	if !held.Any() {
		return o.withReauthentication(ctx, p, func(tx ports.Tx, s operators.Session, account operators.AccountAccess) error {
			return o.recordReauthentication(ctx, tx, by, s, account, operators.ByPassword)
		})
	}
	return o.tryCode(ctx, by, from, p.matched, code, func(tx ports.Tx, _ operators.AccountAccess) error {
		return p.run(ctx, tx, o.clock.Now(), func(s operators.Session, account operators.AccountAccess) error {
			return o.recordReauthentication(ctx, tx, by, s, account, operators.ByPasswordAndCode)
		})
	})
}

// recordReauthentication records that the holder of a session has confirmed their identity.
func (o *Operators) recordReauthentication(ctx context.Context, tx ports.Tx, by audit.Actor, s operators.Session, account operators.AccountAccess, m operators.Method) error {
	now := o.clock.Now()
	if err := tx.Operators().Authenticated(ctx, s.Digest, m, now); err != nil {
		return err
	}
	return recordAccount(ctx, tx, by, now, audit.Reauthenticated, account.Account, audit.State{"method": string(m)})
}

// ChangePassword changes the password of a session's account, if its holder knows the current one.
// It ends the account's other sessions and what waits for a second factor, forgets its other
// devices and ends the links that would set its password. operators.ErrPassword about `current`,
// operators.TooManyError, operators.ErrNoSession.
func (o *Operators) ChangePassword(ctx context.Context, by audit.Actor, from operators.Origin, token, current string, next operators.Password) error {
	p, err := o.checkCurrentPassword(ctx, by, from, token, current)
	if err != nil {
		return err
	}
	hash, err := o.hashFor(ctx, p.matched.User.Username, next)
	if err != nil {
		return err
	}
	return o.withReauthentication(ctx, p, func(tx ports.Tx, s operators.Session, account operators.AccountAccess) error {
		now := o.clock.Now()
		of, err := tx.Operators().Accounts(ctx, account.User.Username)
		if err != nil {
			return err
		}
		if _, err := tx.Operators().Save(ctx, account.WithPassword(hash, operators.PasswordTime(of, now))); err != nil {
			return err
		}
		ended, err := tx.Operators().EndOthers(ctx, account.ID, s.Digest)
		if err != nil {
			return err
		}
		err = errors.Join(tx.Operators().ForgetDevices(ctx, account.ID, s.Device), endInvitations(ctx, tx, account), endSecondFactorSteps(ctx, tx, account.ID))
		if err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, now, audit.PasswordSet, account.Account, audit.State{"own": true, "sessions_ended": ended})
	})
}

// SetLanguage stores the language of the pages that the holder of the signed-in account sees, in
// every browser; an empty one lets each browser decide. A malformed one is Invalid;
// operators.ErrNotFound.
func (o *Operators) SetLanguage(ctx context.Context, by audit.Actor, v operators.Principal, language string) error {
	return o.store.Update(ctx, func(tx ports.Tx) error {
		held, err := tx.Operators().Account(ctx, v.Account)
		if err != nil || held.Language == language {
			return err
		}
		account, err := held.WithLanguage(language)
		if err != nil {
			return err
		}
		if _, err := tx.Operators().Save(ctx, account); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, o.clock.Now(), audit.LanguageChosen, account, audit.State{"language": language})
	})
}

// endInvitations ends the links by which a password of the account could be set.
func endInvitations(ctx context.Context, tx ports.Tx, h operators.AccountAccess) error {
	var to []orgs.ID
	for _, p := range h.Organizations {
		to = append(to, p.Organization.ID)
	}
	if h.Organization != 0 {
		to = append(to, h.Organization)
	}
	return tx.Operators().EndInvitations(ctx, h.User.ID, to)
}

// sameHash returns the hash of an account if a password is the one that the account has; else an
// empty one.
func (o *Operators) sameHash(ctx context.Context, id operators.AccountID, p operators.Password) (operators.Hash, error) {
	held, err := ports.View(ctx, o.store, func(tx ports.Tx) (operators.AccountAccess, error) { return tx.Operators().Account(ctx, id) })
	if errors.Is(err, operators.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	done, err := o.mayHash(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if p.Is(held.Hash) {
		return held.Hash, nil
	}
	return "", nil
}

// mayHash waits until a password may be hashed; done ends that.
func (o *Operators) mayHash(ctx context.Context) (done func(), err error) {
	select {
	case o.hashing <- struct{}{}:
		return func() { <-o.hashing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hashFor is Password.Hash with the username and the user's other passwords to compare with, for as
// many callers at once as there is memory for.
func (o *Operators) hashFor(ctx context.Context, username string, p operators.Password) (operators.Hash, error) {
	others, err := ports.View(ctx, o.store, func(tx ports.Tx) ([]operators.AccountAccess, error) {
		return tx.Operators().Accounts(ctx, username)
	})
	if err != nil {
		return "", err
	}
	done, err := o.mayHash(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return p.Hash(operators.Hashes(others)...), nil
}

// Sessions returns the valid sessions of the signed-in user's account, the most recently used
// first, at most MaxShown.
func (o *Operators) Sessions(ctx context.Context, v operators.Principal) ([]operators.Session, error) {
	now := o.clock.Now()
	return ports.View(ctx, o.store, func(tx ports.Tx) (found []operators.Session, err error) {
		all, err := tx.Operators().Sessions(ctx, v.Account, MaxShown)
		found = nil
		for _, s := range all {
			if s.Valid(now) {
				found = append(found, s)
			}
		}
		return found, err
	})
}

// EndSession ends one of the sessions of the signed-in user's account; operators.ErrNoSession when
// it belongs to another account.
func (o *Operators) EndSession(ctx context.Context, by audit.Actor, v operators.Principal, d operators.Digest) error {
	return o.store.Update(ctx, func(tx ports.Tx) error {
		s, account, err := tx.Operators().Session(ctx, d)
		if err != nil {
			return err
		}
		if s.Account != v.Account {
			return operators.ErrNoSession
		}
		if err := tx.Operators().End(ctx, d); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, o.clock.Now(), audit.SessionEnded, account.Account,
			audit.State{"from": s.Address, "since": s.Created.UTC().Format(time.RFC3339)})
	})
}
