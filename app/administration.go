package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Administration is deciding who can sign in and what they may do there.
type Administration struct {
	store ports.Store
	clock ports.Clock
}

// NewAdministration returns the use cases on those who can sign in.
func NewAdministration(store ports.Store, clock ports.Clock) *Administration {
	return &Administration{store: store, clock: clock}
}

// Create makes an administrator of the installation, of an existing identity with this username or of a new one; the e-mail counts only for
// a new one. operators.ErrExists for whoever can sign in already, whom SetPassword is for.
func (a *Administration) Create(ctx context.Context, by audit.Actor, username, email string, p operators.Password) error {
	u, err := users.NewUser(username, email, "", "")
	if err != nil {
		return err
	}
	hash := p.Hash()
	return a.store.Update(ctx, func(tx ports.Tx) error {
		found, _, err := tx.Users().Ensure(ctx, []users.User{u})
		if err != nil {
			return err
		}
		stored := found[0]
		switch _, err := tx.Operators().Account(ctx, stored.Username); {
		case err == nil:
			return operators.ErrExists
		case !errors.Is(err, operators.ErrNotFound):
			return err
		}
		account := operators.Account{User: stored, Administrator: true}.Renewed(hash, a.clock.Now())
		if err := tx.Operators().Save(ctx, account); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, account.Changed, audit.AccountCreated, account, audit.State{"administrator": true})
	})
}

// SetPassword gives a user another password, or a first one, ends all sessions of theirs and lifts a lock-out. Whom an organization has to be
// named for are members who could not sign in so far: at.Organization may be empty for everybody else. operators.ErrNotFound, users.ErrNotFound.
func (a *Administration) SetPassword(ctx context.Context, by audit.Actor, at Path, username string, p operators.Password) error {
	hash := p.Hash()
	return a.store.Update(ctx, func(tx ports.Tx) error {
		account, err := tx.Operators().Account(ctx, username)
		if errors.Is(err, operators.ErrNotFound) && at.Organization != "" {
			var m users.Member
			m, err = member(ctx, tx, at, username)
			account = operators.Account{User: m.User}
		}
		if err != nil {
			return err
		}
		account = account.Renewed(hash, a.clock.Now())
		account.Organization = 0 // Whoever made the account does not know its password any more.
		if err := errors.Join(tx.Operators().Save(ctx, account), tx.Operators().EndInvitations(ctx, account.User.ID)); err != nil {
			return err
		}
		ended, err := tx.Operators().EndAll(ctx, account.User.ID)
		if err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, account.Changed, audit.PasswordSet, account, audit.State{"sessions_ended": ended})
	})
}

// SetRole says what a member may do in the console of the organization; orgs.ErrNotFound, users.ErrNotFound.
func (a *Administration) SetRole(ctx context.Context, by audit.Actor, at Path, username string, role users.Role) error {
	return a.store.Update(ctx, func(tx ports.Tx) error {
		m, err := member(ctx, tx, at, username)
		if err != nil || m.Role == role {
			return err
		}
		return a.setRole(ctx, tx, by, at, m, role)
	})
}

// setRole decides about the user, because whose the account is counts here and where a link to set its password is used.
func (a *Administration) setRole(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, m users.Member, role users.Role) error {
	if err := tx.Operators().Decide(ctx, m.User.ID); err != nil {
		return err
	}
	before := m.Role
	m.Role = role
	if err := tx.Users().SetRole(ctx, m); err != nil {
		return err
	}
	return tx.Audit().Record(ctx, audit.Entry{Organization: m.Organization, Actor: by, At: a.clock.Now(), Action: audit.RoleSet,
		Object: memberPath(at, m), Before: audit.State{"role": string(before)}, After: audit.State{"role": string(role)}})
}
