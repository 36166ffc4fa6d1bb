package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/ports"
)

// Sealing looks after the encryption of what is stored.
type Sealing struct{ store ports.Store }

// NewSealing returns the use case of encrypting anew.
func NewSealing(store ports.Store) *Sealing { return &Sealing{store: store} }

// Reencrypted is what became of the channels whose settings were not encrypted under the current key.
type Reencrypted struct {
	Encrypted  int              // how many are now
	Discarded  []channels.Stale // could not be opened and have no settings any more
	Unreadable []Unreadable     // cannot be opened and are left as they were
}

// Unreadable is a channel whose settings cannot be opened, and why.
type Unreadable struct {
	channels.Stale
	Err error
}

// stalePage is how many channels are looked up at once.
const stalePage = 100

// Reencrypt encrypts the settings of every channel under the current key, unless they are already. Each channel is a unit of work of its
// own, so that it works beside everything else, may be interrupted and repeated. Settings that cannot be opened are
// left alone, or with discard replaced by none, for keys that are lost. An error tells why it could not go on; the
// answer then is about what was done before. channels.ErrSealed when there is no key.
func (s *Sealing) Reencrypt(ctx context.Context, by audit.Actor, discard bool) (Reencrypted, error) {
	var done Reencrypted
	var after channels.ID
	for {
		var page []channels.Stale
		err := s.store.View(ctx, func(tx ports.Tx) (err error) {
			page, err = tx.Channels().Stale(ctx, after, stalePage)
			return err
		})
		if err != nil || len(page) == 0 {
			return done, err
		}
		for _, c := range page {
			if err := s.reencrypt(ctx, by, c, discard, &done); err != nil {
				return done, err
			}
			after = c.ID
		}
	}
}

func (s *Sealing) reencrypt(ctx context.Context, by audit.Actor, c channels.Stale, discard bool, done *Reencrypted) error {
	changed, err := s.change(ctx, by, audit.SettingsResealed, c, channels.Repository.Reseal)
	switch {
	case errors.Is(err, channels.ErrNotFound):
		return nil // Deleted a moment ago.
	case errors.Is(err, channels.ErrSealed) && !discard:
		done.Unreadable = append(done.Unreadable, Unreadable{Stale: c, Err: err})
		return nil
	case errors.Is(err, channels.ErrSealed):
		changed, err = s.change(ctx, by, audit.SettingsDiscarded, c, channels.Repository.Discard)
		if err == nil && changed {
			done.Discarded = append(done.Discarded, c)
		}
		return err
	case err == nil && changed:
		done.Encrypted++
	}
	return err
}

// change runs a method that concerns the settings of one channel.
func (s *Sealing) change(
	ctx context.Context, by audit.Actor, a audit.Action, c channels.Stale, method func(channels.Repository, context.Context, orgs.ID, channels.ID) (bool, error),
) (changed bool, err error) {
	err = s.store.Update(ctx, func(tx ports.Tx) error {
		if changed, err = method(tx.Channels(), ctx, c.Organization, c.ID); err != nil || !changed {
			return err
		}
		return tx.Audit().Record(ctx, audit.Entry{Organization: c.Organization, Actor: by, Action: a, Object: c.Path,
			Before: audit.State{"key": c.Key}})
	})
	return changed && err == nil, err
}
