package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/ports"
)

// Keys issues and revokes API keys.
type Keys struct {
	store ports.Store
	clock ports.Clock
}

// NewKeys returns the use cases on API keys.
func NewKeys(store ports.Store, clock ports.Clock) *Keys { return &Keys{store: store, clock: clock} }

// Create issues a key and returns it with its text, which is shown this once and kept nowhere. lifetime 0 means that it never
// expires. access.ErrNameTaken, or the not-found fault of the scope.
func (k *Keys) Create(ctx context.Context, name string, scope access.Scope, grants []string, lifetime time.Duration) (key access.Key, text string, err error) {
	key, err = access.NewKey(name, scope, grants, k.clock.Now(), lifetime)
	if err != nil {
		return access.Key{}, "", err
	}
	text, key.Digest = access.Generate()
	err = k.store.Update(ctx, func(tx ports.Tx) error {
		stored, err := tx.Keys().Create(ctx, key)
		if err == nil {
			key = stored
		}
		return err
	})
	if err != nil {
		return access.Key{}, "", err
	}
	return key, text, nil
}

// List returns keys, revoked and expired ones too.
func (k *Keys) List(ctx context.Context, p Page) (found []access.Key, err error) {
	err = k.store.View(ctx, func(tx ports.Tx) error {
		found, err = tx.Keys().List(ctx, access.ID(p.After), p.Limit)
		return err
	})
	return found, err
}

// Revoke ends a key: at once here, within [KeyCacheLifetime] on other instances. access.ErrKeyNotFound.
func (k *Keys) Revoke(ctx context.Context, name string) (revoked access.Key, err error) {
	err = k.store.Update(ctx, func(tx ports.Tx) error {
		revoked, err = tx.Keys().Revoke(ctx, name, k.clock.Now())
		return err
	})
	return revoked, err
}
