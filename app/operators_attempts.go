package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/ports"
)

// attempt is an attempt to sign in to an account of a user.
type attempt struct {
	by       audit.Actor
	username string // as typed
	from     operators.Origin
	accounts []operators.AccountAccess // accounts that the password may open; none for a username without accounts
	others   []operators.AccountAccess // further accounts with the same username

	key     operators.Digest          // the key of its counter
	known   []operators.AccountAccess // accounts that were used on the same device before
	trusted bool                      // the device is known for each account with a password
	several bool                      // there are several of these
}

// knownDevice returns the digest of the caller's device, and the accounts that were used on it. An
// invalid device has no accounts.
func knownDevice(ctx context.Context, tx ports.Tx, from operators.Origin, now time.Time) (operators.Digest, []operators.AccountID, error) {
	digest, err := operators.ParseToken(from.Device)
	if err != nil {
		return operators.Digest{}, nil, nil //nolint:nilerr // A client without a valid token is on an unknown device.
	}
	of, err := tx.Operators().Device(ctx, digest, now)
	return digest, of, err
}

// load finds the counter of the attempt. A username may have several accounts, with passwords of
// several organizations. Somebody who knows one of them must not guess the others faster: the
// device has a counter of its own only if it is known for all of these accounts.
func (a *attempt) load(ctx context.Context, tx ports.Tx, now time.Time) error {
	digest, of, err := knownDevice(ctx, tx, a.from, now)
	isKnown := func(h operators.AccountAccess) bool { return slices.Contains(of, h.ID) }
	a.known = slices.DeleteFunc(slices.Clone(a.accounts), func(h operators.AccountAccess) bool { return !isKnown(h) })
	guessed := slices.DeleteFunc(slices.Concat(a.accounts, a.others), func(h operators.AccountAccess) bool { return h.Hash == "" })
	a.several = len(guessed) > 1
	a.trusted = len(a.known) > 0 && !slices.ContainsFunc(guessed, func(h operators.AccountAccess) bool { return !isKnown(h) })
	a.key = a.from.AttemptKey(a.username, digest, a.trusted)
	return err
}

// checkPassword returns the account that the password opens. The attempt is counted before the
// password is checked, and stays counted until succeed clears it. operators.ErrCredentials,
// operators.TooManyError.
func (o *Operators) checkPassword(ctx context.Context, a attempt, password string) (matched operators.AccountAccess, err error) {
	i, err := o.match(ctx, a, password)
	if err != nil {
		return operators.AccountAccess{}, err
	}
	if i >= 0 {
		return a.accounts[i], nil
	}
	err = o.store.Update(ctx, func(tx ports.Tx) error { return o.recordFailure(ctx, tx, a, audit.SignInFailed) })
	if err == nil {
		err = operators.ErrCredentials
	}
	return operators.AccountAccess{}, err
}

// match counts the attempt and returns the index of the account that the password opens, or -1;
// operators.TooManyError.
func (o *Operators) match(ctx context.Context, a attempt, password string) (int, error) {
	// Attempts that arrive faster than they can be hashed wait here, and so do not fill the table
	// of attempts either.
	done, err := o.mayHash(ctx)
	if err != nil {
		return -1, err
	}
	defer done()
	if err := o.countAttempt(ctx, a); err != nil {
		return -1, err
	}
	return operators.Match(password, operators.Hashes(a.accounts)...), nil
}

// recordFailure records that an attempt failed.
func (o *Operators) recordFailure(ctx context.Context, tx ports.Tx, a attempt, action audit.Action) error {
	now := o.clock.Now()
	attempts, err := tx.Operators().Attempts(ctx, a.key)
	if err != nil {
		return err
	}
	if err := tx.Operators().SaveAttempts(ctx, a.key, attempts.Failed(now), now); err != nil {
		return err
	}
	return a.record(ctx, tx, now, action)
}

// countAttempt counts the attempt, unless it comes too early: operators.TooManyError. It records
// only the first of several early attempts in a row.
func (o *Operators) countAttempt(ctx context.Context, a attempt) error {
	wait, err := ports.Update(ctx, o.store, func(tx ports.Tx) (wait time.Duration, err error) {
		now := o.clock.Now()
		before, err := tx.Operators().Attempts(ctx, a.key)
		if err != nil {
			return wait, err
		}
		var after operators.Attempts
		after, wait = before.Try(now)
		if after == before {
			return wait, nil
		}
		if err := tx.Operators().SaveAttempts(ctx, a.key, after, now); err != nil || wait == 0 {
			return wait, err
		}
		return wait, a.record(ctx, tx, now, audit.SignInRefused)
	})
	if err == nil && wait > 0 {
		err = operators.TooManyError{Wait: wait}
	}
	return err
}

// succeed returns the account of the attempt in its current state, and clears the failed attempts
// before it, unless they may have been guesses at the password of another account;
// operators.ErrCredentials when the password was changed meanwhile.
func (a attempt) succeed(ctx context.Context, tx ports.Tx, now time.Time, matched operators.AccountAccess) (operators.AccountAccess, error) {
	account, err := tx.Operators().Account(ctx, matched.ID)
	if errors.Is(err, operators.ErrNotFound) || (err == nil && account.Hash != matched.Hash) {
		return operators.AccountAccess{}, operators.ErrCredentials
	}
	if err != nil {
		return operators.AccountAccess{}, err
	}
	if !a.several {
		return account, tx.Operators().ForgetAttempts(ctx, a.key)
	}
	attempts, err := tx.Operators().Attempts(ctx, a.key)
	if err != nil {
		return operators.AccountAccess{}, err
	}
	return account, tx.Operators().SaveAttempts(ctx, a.key, attempts.Undone(now), now)
}

// record records the result of an attempt. If the device is known for some of the user's accounts,
// it concerns those, otherwise all of them, because the account that was meant is unknown.
func (a attempt) record(ctx context.Context, tx ports.Tx, now time.Time, action audit.Action) error {
	concerned := a.known
	if len(concerned) == 0 {
		concerned = a.accounts
	}
	return recordHolder(ctx, tx, a.by, now, action, concerned, nil)
}

// KnowsBrowser reports whether any user has signed in from a device before.
func (o *Operators) KnowsBrowser(ctx context.Context, from operators.Origin) (bool, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (known bool, err error) {
		_, of, err := knownDevice(ctx, tx, from, o.clock.Now())
		known = len(of) > 0
		return known, err
	})
}

// KnowsDevice reports whether this user has signed in from a device before, to each of their
// accounts with a password.
func (o *Operators) KnowsDevice(ctx context.Context, from operators.Origin, username string) (bool, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (known bool, err error) {
		a := attempt{username: username, from: from}
		if a.accounts, err = tx.Operators().Accounts(ctx, username); err != nil {
			return known, err
		}
		err = a.load(ctx, tx, o.clock.Now())
		return a.trusted, err
	})
}
