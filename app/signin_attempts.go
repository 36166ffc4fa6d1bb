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

// guess is an attempt at a user's password.
type guess struct {
	by       audit.Actor
	username string // as typed
	from     operators.Origin
	of       []operators.Holding // accounts that the password may open; none for a username without accounts

	key   operators.Digest    // the key of its counter
	known []operators.Holding // accounts that were used on the same device before
}

// device returns the digest of the caller's device, and the accounts that were used on it. An
// invalid device has no accounts.
func device(ctx context.Context, tx ports.Tx, from operators.Origin, now time.Time) (operators.Digest, []operators.AccountID, error) {
	digest, err := operators.ParseToken(from.Device)
	if err != nil {
		return operators.Digest{}, nil, nil //nolint:nilerr // Whoever has no token, or a broken one, comes from no device that we know.
	}
	of, err := tx.Operators().Device(ctx, digest, now)
	return digest, of, err
}

// look finds the counter of the guess.
func (g *guess) look(ctx context.Context, tx ports.Tx, now time.Time) error {
	digest, of, err := device(ctx, tx, g.from, now)
	g.known = slices.DeleteFunc(slices.Clone(g.of), func(h operators.Holding) bool { return !slices.Contains(of, h.ID) })
	g.key = g.from.GuessKey(g.username, digest, len(g.known) > 0)
	return err
}

// try returns the account that the password opens. The guess is counted before the password is
// checked, and stays counted until proved takes it back. operators.ErrCredentials,
// operators.TooMany.
func (o *Operators) try(ctx context.Context, g guess, password string) (matched operators.Holding, err error) {
	// Guesses that arrive faster than they can be hashed wait here, and so do not fill the table of
	// guesses either.
	select {
	case o.hashing <- struct{}{}:
		defer func() { <-o.hashing }()
	case <-ctx.Done():
		return operators.Holding{}, ctx.Err()
	}
	if err := o.count(ctx, g); err != nil {
		return operators.Holding{}, err
	}
	i := operators.Match(password, operators.Hashes(g.of)...)
	if i >= 0 {
		return g.of[i], nil
	}
	err = o.store.Update(ctx, func(tx ports.Tx) error { return o.wrong(ctx, tx, g, audit.SignInFailed) })
	if err == nil {
		err = operators.ErrCredentials
	}
	return operators.Holding{}, err
}

// wrong records that a guess was wrong.
func (o *Operators) wrong(ctx context.Context, tx ports.Tx, g guess, a audit.Action) error {
	now := o.clock.Now()
	guesses, err := tx.Operators().Guesses(ctx, g.key)
	if err != nil {
		return err
	}
	if err := tx.Operators().SaveGuesses(ctx, g.key, guesses.Failed(now), now); err != nil {
		return err
	}
	return g.record(ctx, tx, now, a)
}

// count counts the guess, unless it comes too early: operators.TooMany. Of several early ones in a
// row the first is recorded.
func (o *Operators) count(ctx context.Context, g guess) error {
	wait, err := ports.Update(ctx, o.store, func(tx ports.Tx) (wait time.Duration, err error) {
		now := o.clock.Now()
		before, err := tx.Operators().Guesses(ctx, g.key)
		if err != nil {
			return wait, err
		}
		var after operators.Guesses
		after, wait = before.Try(now)
		if after == before {
			return wait, nil
		}
		if err := tx.Operators().SaveGuesses(ctx, g.key, after, now); err != nil || wait == 0 {
			return wait, err
		}
		return wait, g.record(ctx, tx, now, audit.SignInRefused)
	})
	if err == nil && wait > 0 {
		err = operators.TooMany{Wait: wait}
	}
	return err
}

// proved returns the guessed account in its current state, and clears the wrong guesses before;
// operators.ErrCredentials when the password was changed meanwhile.
func (g guess) proved(ctx context.Context, tx ports.Tx, matched operators.Holding) (operators.Holding, error) {
	account, err := tx.Operators().Account(ctx, matched.ID)
	if errors.Is(err, operators.ErrNotFound) || (err == nil && account.Hash != matched.Hash) {
		return operators.Holding{}, operators.ErrCredentials
	}
	if err != nil {
		return operators.Holding{}, err
	}
	return account, tx.Operators().ForgetGuesses(ctx, g.key)
}

// record records the result of a guess. If the device is known for some of the user's accounts, it
// concerns those, otherwise all of them: nobody can tell which account was meant.
func (g guess) record(ctx context.Context, tx ports.Tx, now time.Time, a audit.Action) error {
	concerned := g.known
	if len(concerned) == 0 {
		concerned = g.of
	}
	return recordHolder(ctx, tx, g.by, now, a, concerned, nil)
}

// KnowsBrowser reports whether any user has signed in from a device before.
func (o *Operators) KnowsBrowser(ctx context.Context, from operators.Origin) (bool, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (known bool, err error) {
		_, of, err := device(ctx, tx, from, o.clock.Now())
		known = len(of) > 0
		return known, err
	})
}

// KnowsDevice reports whether this user has signed in from a device before.
func (o *Operators) KnowsDevice(ctx context.Context, from operators.Origin, username string) (bool, error) {
	return ports.View(ctx, o.store, func(tx ports.Tx) (known bool, err error) {
		g := guess{username: username, from: from}
		if g.of, err = tx.Operators().Accounts(ctx, username); err != nil {
			return known, err
		}
		err = g.look(ctx, tx, o.clock.Now())
		return len(g.known) > 0, err
	})
}
