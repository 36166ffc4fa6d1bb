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

// Administration is the use cases on who can sign in and with which role.
type Administration struct {
	store ports.Store
	clock ports.Clock
}

// NewAdministration returns the use cases on access.
func NewAdministration(store ports.Store, clock ports.Clock) *Administration {
	return &Administration{store: store, clock: clock}
}

// Create makes an administrator of the installation, from an existing identity with this username
// or a new one. The administrator gets an account of their own: accounts that organizations made
// for the username neither prevent it nor become part of it. A user who has a password of the
// installation already gets the right and the new password, as SetPassword sets it, and loses the
// second factors. operators.ErrExists for an administrator.
func (a *Administration) Create(ctx context.Context, by audit.Actor, username string, p operators.Password) error {
	u, err := users.NewUser(username)
	if err != nil {
		return err
	}
	hash, err := a.hashFor(ctx, Path{}, u.Username, p)
	if err != nil {
		return err
	}
	return a.store.Update(ctx, func(tx ports.Tx) error {
		found, _, err := tx.Users().Ensure(ctx, []users.User{u})
		if err != nil {
			return err
		}
		of, err := lockAccounts(ctx, tx, u.Username)
		if err != nil && !errors.Is(err, operators.ErrNotFound) {
			return err
		}
		of = slices.DeleteFunc(of, func(h operators.AccountAccess) bool { return h.Organization != 0 || h.SingleSignOnOnly() })
		if len(of) > 0 {
			return a.promote(ctx, tx, by, of, hash)
		}
		account := operators.Account{User: found[0], Administrator: true}.WithPassword(hash, a.clock.Now())
		if _, err := tx.Operators().Save(ctx, account); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, account.Changed, audit.AccountCreated, account, audit.State{"administrator": true})
	})
}

// promote makes a user's only account with a password of the installation that of an administrator,
// with a new password. Second factors do not stay: an organization that made the account may have
// set one up.
func (a *Administration) promote(ctx context.Context, tx ports.Tx, by audit.Actor, of []operators.AccountAccess, hash operators.Hash) error {
	if slices.ContainsFunc(of, func(h operators.AccountAccess) bool { return h.Administrator }) {
		return operators.ErrExists
	}
	if len(of) > 1 {
		return errSeveral
	}
	account, now := of[0].Account, a.clock.Now()
	account.Administrator = true
	if err := a.renew(ctx, tx, by, Path{}, account.WithPassword(hash, now), nil); err != nil {
		return err
	}
	if _, err := resetFactors(ctx, tx, by, of[0], now); err != nil {
		return err
	}
	return record(ctx, tx, by, 0, audit.AdministratorSet, "accounts/"+account.User.Username, audit.State{"administrator": false}, audit.State{"administrator": true})
}

// RemoveAdministrator takes the right of an administrator of the installation from a user and ends
// the sessions of the account. Its password, and its roles in organizations, stay. It may be the
// last administrator: Create makes another. operators.ErrNotFound, operators.ErrNotAdministrator.
func (a *Administration) RemoveAdministrator(ctx context.Context, by audit.Actor, username string) error {
	return a.store.Update(ctx, func(tx ports.Tx) error {
		of, err := lockAccounts(ctx, tx, username)
		if err != nil {
			return err
		}
		of = slices.DeleteFunc(of, func(h operators.AccountAccess) bool { return !h.Administrator })
		if len(of) == 0 {
			return operators.ErrNotAdministrator
		}
		for _, h := range of {
			h.Administrator = false
			if _, err := tx.Operators().Save(ctx, h.Account); err != nil {
				return err
			}
			ended, err := tx.Operators().EndAll(ctx, h.ID)
			if err != nil {
				return err
			}
			err = record(ctx, tx, by, 0, audit.AdministratorSet, "accounts/"+h.User.Username,
				audit.State{"administrator": true}, audit.State{"administrator": false, "sessions_ended": ended})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SetPassword gives a user a first or a new password, and ends all sessions of the account. With an
// organization it is the account for that organization: the role there counts as accepted, because
// the caller could do everything anyway, and hands out the password. Without one it is the user's
// only account, or the one that makes them administrator of the installation.
// operators.ErrNotFound, operators.ErrSeveralPasswords, users.ErrNotFound.
func (a *Administration) SetPassword(ctx context.Context, by audit.Actor, at Path, username string, p operators.Password) error {
	hash, err := a.hashFor(ctx, at, username, p)
	if err != nil {
		return err
	}
	return a.store.Update(ctx, func(tx ports.Tx) error {
		var accepts *users.Member
		if at.Organization != "" {
			m, err := memberByUsername(ctx, tx, at, username)
			if err != nil {
				return err
			}
			accepts, username = &m, m.User.Username
			if err := tx.Operators().LockUser(ctx, m.User.ID); err != nil {
				return err
			}
		}
		of, err := tx.Operators().Accounts(ctx, username)
		if err != nil {
			return err
		}
		var account operators.Account
		if accepts == nil {
			account, err = operators.DefaultAccount(of)
		} else {
			account = operators.Invited{Invitation: operators.Invitation{Installation: true}, User: accepts.User,
				Access: operators.OrganizationAccess{Organization: orgs.Organization{ID: accepts.Organization}}}.Account(of)
		}
		if err != nil {
			return err
		}
		account.Organization = 0 // The organization that set the last password does not know this one.
		return a.renew(ctx, tx, by, at, account.WithPassword(hash, a.clock.Now()), accepts)
	})
}

// renew stores an account's new password, and what the member accepts with it, if anything.
func (a *Administration) renew(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, account operators.Account, accepts *users.Member) error {
	id, err := tx.Operators().Save(ctx, account)
	if err != nil {
		return err
	}
	if accepts != nil {
		found, err := tx.Operators().Acceptance(ctx, accepts.ID)
		if err != nil {
			return err
		}
		if found.Account != id {
			if err := accept(ctx, tx, by, at, *accepts, id, account.Changed); err != nil {
				return err
			}
		}
	}
	held, err := tx.Operators().Account(ctx, id)
	if err != nil {
		return err
	}
	ended, err := tx.Operators().EndAll(ctx, id)
	if err != nil {
		return err
	}
	if err := errors.Join(endInvitations(ctx, tx, held), endSecondFactorSteps(ctx, tx, id), tx.Operators().ForgetDevices(ctx, id, operators.Digest{})); err != nil {
		return err
	}
	return recordAccount(ctx, tx, by, account.Changed, audit.PasswordSet, account, audit.State{"sessions_ended": ended})
}

// SetRole sets a member's role in the organization's console, and reports whether it takes effect
// at once: it does for a member who has accepted before, and for one to whom the installation
// itself gave a password, which no organization knows. Other members accept it by a link of the
// organization, or get a password for it (SetPassword). orgs.ErrNotFound, users.ErrNotFound.
func (a *Administration) SetRole(ctx context.Context, by audit.Actor, at Path, username string, role users.Role) (bool, error) {
	return updateAt(ctx, a.store, at, bind(memberByUsername, username), func(tx ports.Tx, m users.Member) (bool, error) {
		if m.Role != role {
			if err := a.setRole(ctx, tx, by, at, m, role); err != nil {
				return false, err
			}
			m.Role = role
		}
		if role == users.RoleMember { // It opens nothing, so there is nothing to accept.
			return true, nil
		}
		return a.accepted(ctx, tx, by, at, m)
	})
}

// accepted reports whether a member's role is in effect. It accepts the role for a user whose
// password is from the installation.
func (a *Administration) accepted(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, m users.Member) (bool, error) {
	found, err := tx.Operators().Acceptance(ctx, m.ID)
	if err != nil || found.Account != 0 {
		return found.Account != 0, err
	}
	of, err := tx.Operators().Accounts(ctx, m.User.Username)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(of, func(h operators.AccountAccess) bool { return h.Organization == 0 })
	if i < 0 {
		return false, nil
	}
	return true, accept(ctx, tx, by, at, m, of[i].ID, a.clock.Now())
}

// accept accepts a member's role for an account.
func accept(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, m users.Member, account operators.AccountID, now time.Time) error {
	if err := tx.Operators().Accept(ctx, m.ID, account, now); err != nil {
		return err
	}
	return record(ctx, tx, by, m.Organization, audit.MemberAccepted, memberPath(at, m), nil, audit.State{"role": string(m.Role)})
}

// setRole takes the lock on decisions about the user, because using a link also decides whether a
// role takes effect. The link to a withdrawn role ends: it does not open a later one.
func (a *Administration) setRole(ctx context.Context, tx ports.Tx, by audit.Actor, at Path, m users.Member, role users.Role) error {
	if err := tx.Operators().LockUser(ctx, m.User.ID); err != nil {
		return err
	}
	before := m.Role
	m.Role = role
	if err := storeRole(ctx, tx, m); err != nil {
		return err
	}
	return record(ctx, tx, by, m.Organization, audit.RoleSet, memberPath(at, m), audit.State{"role": string(before)}, audit.State{"role": string(role)})
}

// storeRole stores the role of a member. A member without one has no open invitation either.
func storeRole(ctx context.Context, tx ports.Tx, m users.Member) error {
	err := tx.Users().SetRole(ctx, m)
	if err == nil && m.Role == users.RoleMember {
		err = tx.Operators().EndInvitations(ctx, m.User.ID, []orgs.ID{m.Organization})
	}
	return err
}

// hashFor is Password.Hash with the user's other passwords to compare with.
func (a *Administration) hashFor(ctx context.Context, at Path, username string, p operators.Password) (operators.Hash, error) {
	var of []operators.AccountAccess
	err := a.store.View(ctx, func(tx ports.Tx) error {
		if at.Organization != "" {
			m, err := memberByUsername(ctx, tx, at, username)
			if err != nil {
				return err
			}
			username = m.User.Username
		}
		var err error
		of, err = tx.Operators().Accounts(ctx, username)
		return err
	})
	if err != nil {
		return "", err
	}
	return p.Hash(operators.Hashes(of)...), nil
}
