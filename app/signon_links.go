package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/ports"
)

// Errors of linking.
var (
	errNoIssuer = fault.New(fault.Invalid, "the provider is not known: set sso_issuer, or name it")
	errSubject  = fault.New(fault.Invalid, "the subject must have 1 to 255 bytes")
	errNoOwn    = fault.New(fault.NotFound, "this user has no account that the installation made: accounts that an organization made have passwords that its people may know, and are never linked")
	errSeveral  = fault.New(fault.Invalid, "this user has several accounts that the installation made; remove one first")
)

// LinkedAccount is an account of a user with the identity that opens it.
type LinkedAccount struct {
	operators.AccountAccess

	Link signon.Link // zero: none
}

// LinksOf returns the accounts of a user; operators.ErrNotFound.
func (s *SingleSignOn) LinksOf(ctx context.Context, username string) ([]LinkedAccount, error) {
	return ports.View(ctx, s.store, func(tx ports.Tx) (all []LinkedAccount, err error) {
		of, err := accountsOf(ctx, tx, username)
		if err != nil {
			return all, err
		}
		for _, h := range of {
			link, err := tx.SignOn().Of(ctx, h.ID)
			if err != nil && !errors.Is(err, signon.ErrNotFound) {
				return all, err
			}
			all = append(all, LinkedAccount{AccountAccess: h, Link: link})
		}
		return all, nil
	})
}

// Link makes an identity of the provider open the account that the installation created for a user.
// It replaces the earlier identity, whose sessions end. An empty issuer is the configured one.
// operators.ErrNotFound, signon.ErrLinked, signon.ErrReserved.
func (s *SingleSignOn) Link(ctx context.Context, by audit.Actor, username string, to signon.Subject) error {
	if to.Issuer == "" {
		to.Issuer = s.operators.policy.Issuer
	}
	switch {
	case to.Issuer == "":
		return errNoIssuer
	case to.ID == "" || len(to.ID) > signon.MaxSubject:
		return errSubject
	case s.operators.policy.IsBreakGlassUsername(username):
		return signon.ErrReserved
	}
	return s.store.Update(ctx, func(tx ports.Tx) error {
		account, err := s.installationAccount(ctx, tx, username)
		if err != nil {
			return err
		}
		ended, err := tx.SignOn().EndSessions(ctx, account.ID)
		if err != nil {
			return err
		}
		now := s.clock.Now()
		if err := tx.SignOn().SaveLink(ctx, signon.Link{Subject: to, Account: account.ID, Linked: now}); err != nil {
			return err
		}
		return recordAccount(ctx, tx, by, now, audit.IdentityLinked, account.Account, audit.State{"issuer": to.Issuer, "subject": to.ID, "sessions_ended": ended})
	})
}

// installationAccount finds the account that the installation created for a user.
func (s *SingleSignOn) installationAccount(ctx context.Context, tx ports.Tx, username string) (own operators.AccountAccess, err error) {
	of, err := accountsOf(ctx, tx, username)
	if err != nil {
		return own, err
	}
	found := 0
	for _, h := range of {
		if h.Organization == 0 {
			own = h
			found++
		}
	}
	switch found {
	case 0:
		return own, errNoOwn
	case 1:
		return own, tx.Operators().LockUser(ctx, own.User.ID)
	}
	return own, errSeveral
}

// Unlink removes the identity of a user's account, and ends the sessions that came from the
// provider. An account without a password is deleted; the result reports that.
// operators.ErrNotFound, signon.ErrNotFound.
func (s *SingleSignOn) Unlink(ctx context.Context, by audit.Actor, username string) (bool, error) {
	return ports.Update(ctx, s.store, func(tx ports.Tx) (dropped bool, err error) {
		of, err := lockAccounts(ctx, tx, username)
		if err != nil {
			return dropped, err
		}
		for _, h := range of {
			link, err := tx.SignOn().Of(ctx, h.ID)
			if errors.Is(err, signon.ErrNotFound) {
				continue
			}
			if err != nil {
				return dropped, err
			}
			ended, err := tx.SignOn().EndSessions(ctx, h.ID)
			if err != nil {
				return dropped, err
			}
			if err := tx.SignOn().Unlink(ctx, h.ID); err != nil {
				return dropped, err
			}
			if dropped = h.SingleSignOnOnly(); dropped {
				if err := tx.Operators().DeleteAccount(ctx, h.ID); err != nil {
					return dropped, err
				}
			}
			return dropped, recordAccount(ctx, tx, by, s.clock.Now(), audit.IdentityUnlinked, h.Account,
				audit.State{"issuer": link.Issuer, "subject": link.ID, "sessions_ended": ended, "account_removed": dropped})
		}
		return dropped, signon.ErrNotFound
	})
}
