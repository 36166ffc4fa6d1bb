package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// ChangePassword gives whose session a token is another password, if they know the one that they have, and ends their other sessions.
// What is guessed wrong counts as at signing in. operators.ErrPassword about `current`, operators.ErrNoSession.
func (o *Operators) ChangePassword(ctx context.Context, by audit.Actor, token, current string, next operators.Password) error {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return err
	}
	var known operators.Account
	if err := o.store.View(ctx, func(tx ports.Tx) (err error) {
		_, known, err = tx.Operators().Session(ctx, digest)
		return err
	}); err != nil {
		return err
	}
	right, err := o.matches(ctx, known.Hash, current)
	if err != nil {
		return err
	}
	var hash operators.Hash
	if right {
		if hash, err = o.hash(ctx, next); err != nil {
			return err
		}
	}
	in := false
	err = o.store.Update(ctx, func(tx ports.Tx) error {
		_, before, err := tx.Operators().Session(ctx, digest)
		if err != nil {
			return err
		}
		now := o.clock.Now()
		var after operators.Account
		if after, in = before.Attempt(right && before.Hash == known.Hash, now); !in {
			return o.refuse(ctx, tx, by, before, after, now)
		}
		if err := tx.Operators().Save(ctx, after.Renewed(hash, now)); err != nil {
			return err
		}
		ended, err := tx.Operators().EndOthers(ctx, after.User.ID, digest)
		if err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, now, audit.PasswordSet, after, audit.State{"own": true, "sessions_ended": ended})
	})
	if err == nil && !in {
		return operators.ErrPassword.On("current")
	}
	return err
}

// hash is Password.Hash for so many at once as there is memory for.
func (o *Operators) hash(ctx context.Context, p operators.Password) (operators.Hash, error) {
	select {
	case o.hashing <- struct{}{}:
		defer func() { <-o.hashing }()
		return p.Hash(), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Sessions returns the sessions of a user that still hold, the one that was used last first, at most MaxShown.
func (o *Operators) Sessions(ctx context.Context, u users.User) (found []operators.Session, err error) {
	now := o.clock.Now()
	err = o.store.View(ctx, func(tx ports.Tx) error {
		all, err := tx.Operators().Sessions(ctx, u.ID, MaxShown)
		found = nil
		for _, s := range all {
			if s.Valid(now) {
				found = append(found, s)
			}
		}
		return err
	})
	return found, err
}

// EndSession ends one of a user's sessions; operators.ErrNoSession when it is not theirs.
func (o *Operators) EndSession(ctx context.Context, by audit.Actor, u users.User, d operators.Digest) error {
	return o.store.Update(ctx, func(tx ports.Tx) error {
		s, account, err := tx.Operators().Session(ctx, d)
		if err != nil {
			return err
		}
		if s.User != u.ID {
			return operators.ErrNoSession
		}
		if err := tx.Operators().End(ctx, d); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, o.clock.Now(), audit.SessionEnded, account, audit.State{"from": s.Address, "since": s.Created.UTC().Format(time.RFC3339)})
	})
}

// Welcome is what a link to set a password is about.
type Welcome struct {
	User         users.User
	Organization orgs.Organization // that invites
	Known        bool              // the user can sign in already
}

// Welcome tells what a token's link is about; operators.ErrInvitation.
func (o *Operators) Welcome(ctx context.Context, token string) (w Welcome, err error) {
	err = o.store.View(ctx, func(tx ports.Tx) error {
		_, account, org, err := o.invitation(ctx, tx, token)
		w = Welcome{User: account.User, Organization: org, Known: account.Hash != ""}
		return err
	})
	return w, err
}

// Accept sets the password that a token's link allows to set, ends the link and all sessions of the user, and lifts a lock-out. The audit log
// names the user as who did it. operators.ErrInvitation.
func (o *Operators) Accept(ctx context.Context, by audit.Actor, token string, p operators.Password) error {
	if err := o.store.View(ctx, func(tx ports.Tx) error {
		_, _, _, err := o.invitation(ctx, tx, token)
		return err
	}); err != nil { // A password is hashed for those only who have a link.
		return err
	}
	hash, err := o.hash(ctx, p)
	if err != nil {
		return err
	}
	return o.store.Update(ctx, func(tx ports.Tx) error {
		i, account, org, err := o.invitation(ctx, tx, token)
		if err != nil {
			return err
		}
		if err := tx.Operators().Decide(ctx, account.User.ID); err != nil {
			return err
		}
		account = account.Renewed(hash, o.clock.Now())
		if account.Organization = i.Organization; i.Installation {
			account.Organization = 0
		}
		if err := errors.Join(tx.Operators().Save(ctx, account), tx.Operators().EndInvitations(ctx, account.User.ID)); err != nil {
			return err
		}
		ended, err := tx.Operators().EndAll(ctx, account.User.ID)
		if err != nil {
			return err
		}
		by.Name = account.User.Username
		return recordAccount(ctx, tx, by, account.Changed, audit.PasswordSet, account, audit.State{"invited_to": org.Slug, "sessions_ended": ended})
	})
}

// invitation finds what a token is about, if it still holds: things may have changed since somebody invited, so whether they may is asked again.
func (o *Operators) invitation(ctx context.Context, tx ports.Tx, token string) (i operators.Invitation, account operators.Account, org orgs.Organization, err error) {
	digest, err := operators.ParseToken(token)
	if err != nil {
		return i, account, org, operators.ErrInvitation
	}
	if i, account, err = tx.Operators().Invitation(ctx, digest); err != nil {
		return i, account, org, err
	}
	places, err := tx.Operators().Places(ctx, i.User)
	if err != nil {
		return i, account, org, err
	}
	by := operators.Officer{Right: operators.Administrator}
	if i.Installation {
		by.Right = operators.Installation
	}
	here := slices.IndexFunc(places, func(p operators.Place) bool { return p.Organization.ID == i.Organization })
	if !i.Valid(o.clock.Now()) || here < 0 || by.MayInvite(account, places, i.Organization) != nil {
		return i, account, org, operators.ErrInvitation
	}
	return i, account, places[here].Organization, nil
}
