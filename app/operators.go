package app

import (
	"context"
	"errors"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// maxHashing is how many passwords are hashed at once: each takes 19 MiB for a moment.
const maxHashing = 4

// Operators is signing in to the console and out again, and who can.
type Operators struct {
	store   ports.Store
	clock   ports.Clock
	hashing chan struct{}
}

// NewOperators returns the use cases on those who work with the console.
func NewOperators(store ports.Store, clock ports.Clock) *Operators {
	return &Operators{store: store, clock: clock, hashing: make(chan struct{}, maxHashing)}
}

// SignIn begins a session and returns its token. Whatever stands in the way, an unknown user, a wrong password or a locked account, the answer
// is operators.ErrCredentials and takes equally long. by.Name is what was typed.
func (o *Operators) SignIn(ctx context.Context, by audit.Actor, username, password string) (token string, err error) {
	var known operators.Account
	err = o.store.View(ctx, func(tx ports.Tx) error {
		known, err = tx.Operators().Account(ctx, username)
		if errors.Is(err, operators.ErrNotFound) {
			known, err = operators.Account{}, nil
		}
		return err
	})
	if err != nil {
		return "", err
	}
	// Outside of any transaction, since it takes long.
	right, err := o.matches(ctx, known.Hash, password)
	if err != nil {
		return "", err
	}
	if known.User.ID == 0 {
		return "", operators.ErrCredentials
	}
	by.Name = known.User.Username
	var in bool
	err = o.store.Update(ctx, func(tx ports.Tx) error {
		in, token = false, ""
		before, err := tx.Operators().Account(ctx, username)
		if err != nil {
			return err
		}
		now := o.clock.Now()
		var after operators.Account
		after, in = before.Attempt(right && before.Hash == known.Hash, now)
		if !in {
			return o.refuse(ctx, tx, by, before, after, now)
		}
		token, err = o.admit(ctx, tx, by, before, after, now)
		return err
	})
	if err == nil && !in {
		err = operators.ErrCredentials
	}
	return token, err
}

// matches is Hash.Matches for so many at once as there is memory for.
func (o *Operators) matches(ctx context.Context, h operators.Hash, password string) (bool, error) {
	select {
	case o.hashing <- struct{}{}:
		defer func() { <-o.hashing }()
		return h.Matches(password), nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// refuse counts a wrong password. It must not fail the unit of work, or the count would be lost.
func (o *Operators) refuse(ctx context.Context, tx ports.Tx, by audit.Actor, before, after operators.Account, now time.Time) error {
	if before == after {
		return nil
	}
	if err := tx.Operators().Save(ctx, after); err != nil || !after.Locked(now) {
		return err
	}
	return recordAccount(ctx, tx, by, now, audit.LockedOut, after, audit.State{"until": after.LockedUntil.UTC().Format(time.RFC3339)})
}

// admit begins a session.
func (o *Operators) admit(ctx context.Context, tx ports.Tx, by audit.Actor, before, after operators.Account, now time.Time) (string, error) {
	if before != after {
		if err := tx.Operators().Save(ctx, after); err != nil {
			return "", err
		}
	}
	if err := tx.Operators().Sweep(ctx, now); err != nil {
		return "", err
	}
	s, token := operators.NewSession(after.User.ID, by.Address, now)
	if err := tx.Operators().Begin(ctx, s); err != nil {
		return "", err
	}
	return token, recordAccount(ctx, tx, by, now, audit.SignedIn, after, nil)
}

// Resume returns whose session a token is, with what they may do as things are now; operators.ErrNoSession.
func (o *Operators) Resume(ctx context.Context, token string) (v operators.Visitor, err error) {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return operators.Visitor{}, err
	}
	now := o.clock.Now()
	var s operators.Session
	err = o.store.View(ctx, func(tx ports.Tx) error {
		var account operators.Account
		if s, account, err = tx.Operators().Session(ctx, digest); err != nil {
			return err
		}
		if !s.Valid(now) {
			return operators.ErrNoSession
		}
		v, err = visitor(ctx, tx, account)
		return err
	})
	if err == nil && s.Stale(now) {
		err = o.store.Update(ctx, func(tx ports.Tx) error { return tx.Operators().Saw(ctx, digest, now) })
	}
	if err != nil {
		return operators.Visitor{}, err
	}
	return v, nil
}

// visitor is the holder of an account with what they may do as things are now.
func visitor(ctx context.Context, tx ports.Tx, account operators.Account) (operators.Visitor, error) {
	places, err := tx.Operators().Places(ctx, account.User.ID)
	return operators.Visitor{User: account.User, Administrator: account.Administrator, Places: places}, err
}

// SignOut ends the session with this token, if there is one.
func (o *Operators) SignOut(ctx context.Context, by audit.Actor, token string) error {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return err
	}
	return o.store.Update(ctx, func(tx ports.Tx) error {
		_, account, err := tx.Operators().Session(ctx, digest)
		if errors.Is(err, operators.ErrNoSession) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := tx.Operators().End(ctx, digest); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, o.clock.Now(), audit.SignedOut, account, nil)
	})
}

// SignOutEverywhere ends every session of a user.
func (o *Operators) SignOutEverywhere(ctx context.Context, by audit.Actor, u users.User) error {
	return o.store.Update(ctx, func(tx ports.Tx) error {
		ended, err := tx.Operators().EndAll(ctx, u.ID)
		if err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, o.clock.Now(), audit.SignedOutEverywhere, operators.Account{User: u}, audit.State{"sessions": ended})
	})
}

// recordAccount notes what happened to an account, which belongs to the installation.
func recordAccount(
	ctx context.Context, tx ports.Tx, by audit.Actor, now time.Time, a audit.Action, account operators.Account, after audit.State,
) error {
	return tx.Audit().Record(ctx, audit.Entry{Actor: by, At: now, Action: a, Object: "accounts/" + account.User.Username, After: after})
}
