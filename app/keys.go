package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
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
func (k *Keys) Create(
	ctx context.Context, by audit.Actor, name string, scope access.Scope, grants []string, lifetime time.Duration,
) (key access.Key, text string, err error) {
	key, err = access.NewKey(name, scope, grants, k.clock.Now(), lifetime)
	if err != nil {
		return access.Key{}, "", err
	}
	text, key.Digest = access.Generate()
	err = k.store.Update(ctx, func(tx ports.Tx) error {
		stored, err := tx.Keys().Create(ctx, key)
		if err != nil {
			return err
		}
		key = stored
		return recordKey(ctx, tx, by, audit.KeyCreated, key, nil, keyState(key))
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
func (k *Keys) Revoke(ctx context.Context, by audit.Actor, name string) (revoked access.Key, err error) {
	err = k.store.Update(ctx, func(tx ports.Tx) error {
		if revoked, err = tx.Keys().Revoke(ctx, name, k.clock.Now()); err != nil {
			return err
		}
		return recordKey(ctx, tx, by, audit.KeyRevoked, revoked, keyState(revoked), nil)
	})
	return revoked, err
}

// recordKey notes a change to a key in the log of the organization that it is limited to, else in the installation's.
func recordKey(ctx context.Context, tx ports.Tx, by audit.Actor, a audit.Action, k access.Key, before, after audit.State) error {
	var org orgs.Organization
	if k.Scope.Organization != "" {
		var err error
		if org, err = tx.Orgs().BySlug(ctx, k.Scope.Organization); err != nil {
			return err
		}
	}
	return tx.Audit().Record(ctx, audit.Entry{Organization: org.ID, Actor: by, Action: a, Object: Path(k.Scope).object("keys", k.Name),
		Before: before, After: after})
}

// keyState is what the audit log tells of a key: nothing that lets anybody use it.
func keyState(k access.Key) audit.State {
	s := audit.State{"id": k.ID, "grants": k.Grants, "expires": nil}
	if !k.Expires.IsZero() {
		s["expires"] = k.Expires.UTC()
	}
	return s
}
