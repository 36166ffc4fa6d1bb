package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Reencryption is the use case of encrypting stored secrets under another key.
type Reencryption struct{ store ports.Store }

// NewReencryption returns the use case of re-encryption.
func NewReencryption(store ports.Store) *Reencryption { return &Reencryption{store: store} }

// EncryptedValue is a value that is stored encrypted: the settings of a channel, or the secret of
// an authenticator app.
type EncryptedValue struct {
	ID   int64  // of the channel, or of the account
	Path string // its name for people
	Key  string // the id of the key that it is encrypted under
}

// ReencryptionResult is the result for all values that were not encrypted under the current key.
type ReencryptionResult struct {
	Encrypted  int              // how many are now
	Discarded  []EncryptedValue // could not be decrypted and were removed
	Unreadable []Unreadable     // cannot be decrypted and are unchanged
}

// Unreadable is a value that cannot be decrypted, and why.
type Unreadable struct {
	EncryptedValue
	Err error
}

// stalePage is how many values are read at once.
const stalePage = 100

// Reencrypt encrypts all stored values that are not yet encrypted under the current key. Each value
// is a unit of work of its own, so that other work can run at the same time, and a run may be
// interrupted and repeated. A value that cannot be decrypted is left alone, or removed with
// discard, for lost keys: the channel then has no settings, the account no authenticator app. After
// an error the result covers what was done before. channels.ErrSealed or factors.ErrSealed when
// there is no key.
func (s *Reencryption) Reencrypt(ctx context.Context, by audit.Actor, discard bool) (ReencryptionResult, error) {
	var done ReencryptionResult
	err := s.channels(ctx, by, discard, &done)
	if err == nil {
		err = s.apps(ctx, by, discard, &done)
	}
	return done, err
}

// channels encrypts the settings of channels.
func (s *Reencryption) channels(ctx context.Context, by audit.Actor, discard bool, done *ReencryptionResult) error {
	var after channels.ID
	for {
		page, err := ports.View(ctx, s.store, func(tx ports.Tx) ([]channels.Stale, error) {
			return tx.Channels().Stale(ctx, after, stalePage)
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, c := range page {
			after = c.ID
			reseal := s.channel(ctx, by, audit.SettingsReencrypted, c, channels.Repository.Reencrypt)
			remove := s.channel(ctx, by, audit.SettingsDiscarded, c, channels.Repository.Discard)
			if err := s.reencrypt(EncryptedValue{ID: int64(c.ID), Path: c.Path, Key: c.Key}, reseal, remove, discard, done); err != nil {
				return err
			}
		}
	}
}

// apps encrypts the secrets of authenticator apps.
func (s *Reencryption) apps(ctx context.Context, by audit.Actor, discard bool, done *ReencryptionResult) error {
	var after operators.AccountID
	for {
		page, err := ports.View(ctx, s.store, func(tx ports.Tx) ([]factors.Stale, error) {
			return tx.Factors().StaleTOTP(ctx, after, stalePage)
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, a := range page {
			after = a.Account
			reseal := s.app(ctx, by, audit.FactorReencrypted, a, factors.Repository.ReencryptTOTP)
			remove := s.app(ctx, by, audit.FactorRemoved, a, func(r factors.Repository, ctx context.Context, id operators.AccountID) (bool, error) {
				return true, r.RemoveTOTP(ctx, id)
			})
			if err := s.reencrypt(EncryptedValue{ID: int64(a.Account), Path: "accounts/" + a.Username + " (authenticator app)", Key: a.Key}, reseal, remove, discard, done); err != nil {
				return err
			}
		}
	}
}

// reencrypt encrypts one value, or removes it if it cannot be decrypted and discard is set.
func (s *Reencryption) reencrypt(value EncryptedValue, reseal, remove func() (bool, error), discard bool, done *ReencryptionResult) error {
	changed, err := reseal()
	sealed := errors.Is(err, channels.ErrSealed) || errors.Is(err, factors.ErrSealed)
	switch {
	case errors.Is(err, channels.ErrNotFound), errors.Is(err, factors.ErrNotFound):
		return nil // Deleted a moment ago.
	case sealed && !discard:
		done.Unreadable = append(done.Unreadable, Unreadable{EncryptedValue: value, Err: err})
		return nil
	case sealed:
		changed, err = remove()
		if err == nil && changed {
			done.Discarded = append(done.Discarded, value)
		}
		return err
	case err == nil && changed:
		done.Encrypted++
	}
	return err
}

// channel returns a function that runs a method on the settings of one channel.
func (s *Reencryption) channel(
	ctx context.Context, by audit.Actor, a audit.Action, c channels.Stale, method func(channels.Repository, context.Context, orgs.ID, channels.ID) (bool, error),
) func() (bool, error) {
	return s.change(ctx, func(tx ports.Tx) (bool, error) { return method(tx.Channels(), ctx, c.Organization, c.ID) },
		audit.Entry{Organization: c.Organization, Actor: by, Action: a, Object: c.Path, Before: audit.State{"key": c.Key}})
}

// app returns a function that runs a method on the authenticator app of one account.
func (s *Reencryption) app(
	ctx context.Context, by audit.Actor, a audit.Action, f factors.Stale, method func(factors.Repository, context.Context, operators.AccountID) (bool, error),
) func() (bool, error) {
	return s.change(ctx, func(tx ports.Tx) (bool, error) { return method(tx.Factors(), ctx, f.Account) },
		audit.Entry{Actor: by, Action: a, Object: "accounts/" + f.Username, Before: audit.State{"key": f.Key}})
}

// change returns a function that runs a unit of work, and records it if it changed anything.
func (s *Reencryption) change(ctx context.Context, do func(tx ports.Tx) (bool, error), e audit.Entry) func() (bool, error) {
	return func() (changed bool, err error) {
		err = s.store.Update(ctx, func(tx ports.Tx) error {
			if changed, err = do(tx); err != nil || !changed {
				return err
			}
			return tx.Audit().Record(ctx, e)
		})
		return changed && err == nil, err
	}
}
