package app

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// Keys issues, rotates and revokes API keys.
type Keys struct {
	store ports.Store
	clock ports.Clock
	known *Authentication // this instance's cache of keys

	limits *quotas.Defaults
}

// NewKeys returns the use cases on API keys. limits are for organizations without limits of their
// own. Keys that are revoked or rotated leave the cache known at once.
func NewKeys(store ports.Store, clock ports.Clock, known *Authentication, limits *quotas.Defaults) *Keys {
	return &Keys{store: store, clock: clock, known: known, limits: limits}
}

// Create issues a key and returns it with its text, which is shown only once and never stored.
// lifetime 0 means that it never expires. access.ErrNameTaken, access.ErrWider, *quotas.Exceeded,
// or the not-found error of the scope.
func (k *Keys) Create(
	ctx context.Context, by audit.Actor, name string, scope access.Scope, grants []string, lifetime time.Duration, limits ...access.Limit,
) (made access.Key, text string, err error) {
	key, err := access.NewKey(name, scope, grants, k.clock.Now(), lifetime, limits...)
	if err != nil {
		return access.Key{}, "", err
	}
	text, key.Digest = access.Generate()
	err = k.store.Update(ctx, func(tx ports.Tx) error {
		if _, err := k.checkRights(ctx, tx, by, key); err != nil {
			return err
		}
		var err error
		if made, err = tx.Keys().Create(ctx, key); err != nil {
			return err
		}
		org, err := within(ctx, tx, Path(made.Scope))
		if err != nil {
			return err
		}
		if org != 0 {
			if err := WithinQuota(ctx, tx, k.limits, org, quotas.Keys); err != nil {
				return err
			}
		}
		return recordKey(ctx, tx, by, audit.KeyCreated, made, nil, keyState(made))
	})
	if err != nil {
		return access.Key{}, "", err
	}
	return made, text, nil
}

// List returns the keys whose scope lies in the path's organization, or without one all keys,
// including revoked and expired ones. orgs.ErrNotFound.
func (k *Keys) List(ctx context.Context, at Path, p Page) ([]KeyReport, error) {
	now := k.clock.Now()
	return viewAt(ctx, k.store, at, within, func(tx ports.Tx, org orgs.ID) (found []KeyReport, err error) {
		listed, err := tx.Keys().List(ctx, org, access.ID(p.After), p.Limit)
		found = reports(listed, now)
		return found, err
	})
}

// Latest returns the keys whose scope lies in the path's organization, or without one all, the
// newest first: at most limit, older than the one with the id before (0: from the newest on).
// orgs.ErrNotFound.
func (k *Keys) Latest(ctx context.Context, at Path, before access.ID, limit int) ([]KeyReport, error) {
	now := k.clock.Now()
	return viewAt(ctx, k.store, at, within, func(tx ports.Tx, org orgs.ID) (found []KeyReport, err error) {
		latest, err := tx.Keys().Latest(ctx, org, before, limit)
		found = reports(latest, now)
		return found, err
	})
}

// KeyReport is a key and its state.
type KeyReport struct {
	access.Key
	State access.State
}

func reports(all []access.Key, now time.Time) []KeyReport {
	found := make([]KeyReport, len(all))
	for i, key := range all {
		found[i] = KeyReport{key, key.State(now)}
	}
	return found
}

// Revocable reports whether the key can still be used or become usable, so that revoking it has an
// effect.
func (r KeyReport) Revocable() bool { return r.State != access.Revoked }

// Rotatable reports whether a new key can replace this one.
func (r KeyReport) Rotatable() bool { return r.State == access.Active }

// maxSameName is how many scopes an error names that have a key of one name.
const maxSameName = 20

// keyNamed finds the newest key of a name that is not revoked: within the scope, or without one
// among all keys if only one scope has it.
func keyNamed(ctx context.Context, tx ports.Tx, name string, in *access.Scope) (access.Key, error) {
	if in != nil {
		return tx.Keys().ByName(ctx, *in, name)
	}
	found, err := tx.Keys().Named(ctx, name, maxSameName)
	if err != nil {
		return access.Key{}, err
	}
	return access.Only(found)
}

// Revoke ends the key of this name, and those that it replaced: at once here, within
// [KeyCacheLifetime] on other instances. If in is set, the key has exactly this scope.
// access.ErrKeyNotFound, access.ErrAmbiguous.
func (k *Keys) Revoke(ctx context.Context, by audit.Actor, name string, in *access.Scope) (revoked access.Key, err error) {
	err = k.store.Update(ctx, func(tx ports.Tx) error {
		if revoked, err = keyNamed(ctx, tx, name, in); err != nil {
			return err
		}
		revoked.Revoked = k.clock.Now()
		if err := tx.Keys().Revoke(ctx, revoked, revoked.Revoked); err != nil {
			return err
		}
		return recordKey(ctx, tx, by, audit.KeyRevoked, revoked, keyState(revoked), nil)
	})
	afterUnit(ctx, k.known.Forget)
	return revoked, err
}

// RevokeByID ends a key whose scope lies in the path's organization, or without one any key, like
// Revoke; a revoked key stays as it is. access.ErrKeyNotFound.
func (k *Keys) RevokeByID(ctx context.Context, by audit.Actor, at Path, id access.ID) error {
	err := k.store.Update(ctx, func(tx ports.Tx) error {
		if _, err := k.checkRights(ctx, tx, by); err != nil {
			return err
		}
		key, err := keyByID(ctx, tx, at, id)
		if err != nil || !key.Revoked.IsZero() {
			return err
		}
		key.Revoked = k.clock.Now()
		if err := tx.Keys().Save(ctx, key); err != nil {
			return err
		}
		return recordKey(ctx, tx, by, audit.KeyRevoked, key, keyState(key), nil)
	})
	afterUnit(ctx, k.known.Forget)
	return err
}

// Rotate replaces the key with this name, of exactly the scope in if that is set; see RotateByID.
// access.ErrAmbiguous.
func (k *Keys) Rotate(ctx context.Context, by audit.Actor, name string, in *access.Scope, overlap time.Duration) (Rotation, error) {
	return k.rotate(ctx, by, overlap, func(tx ports.Tx) (access.Key, error) { return keyNamed(ctx, tx, name, in) })
}

// RotateByID issues a key with the name, the scope and the grants of an old one, whose scope lies
// in the path's organization, or without one of any key. The old one stays valid for the overlap
// and then ends by itself. access.ErrKeyNotFound, access.ErrEnded, access.ErrReplaced,
// access.ErrWider.
func (k *Keys) RotateByID(ctx context.Context, by audit.Actor, at Path, id access.ID, overlap time.Duration) (Rotation, error) {
	return k.rotate(ctx, by, overlap, func(tx ports.Tx) (access.Key, error) { return keyByID(ctx, tx, at, id) })
}

// Rotation is a new key with its text, which is shown only once and never stored, and the key that
// it replaces.
type Rotation struct {
	Key  access.Key
	Text string
	Old  access.Key // with the time at which it ends
}

func (k *Keys) rotate(ctx context.Context, by audit.Actor, overlap time.Duration, find func(ports.Tx) (access.Key, error)) (Rotation, error) {
	var r Rotation
	text, digest := access.Generate()
	err := k.store.Update(ctx, func(tx ports.Tx) error {
		was, err := find(tx)
		if err != nil {
			return err
		}
		ends, err := k.checkRights(ctx, tx, by, was)
		if err != nil {
			return err
		}
		if r.Key, r.Old, err = was.Rotate(k.clock.Now(), overlap); err != nil {
			return err
		}
		r.Key = r.Key.Bounded(ends)
		if err := tx.Keys().Save(ctx, r.Old); err != nil {
			return err
		}
		r.Key.Digest = digest
		if r.Key, err = tx.Keys().Create(ctx, r.Key); err != nil {
			return err
		}
		return recordKey(ctx, tx, by, audit.KeyRotated, r.Key, keyState(was), audit.State{"id": r.Key.ID, "old_expires": r.Old.Expires.UTC()})
	})
	afterUnit(ctx, k.known.Forget)
	if err != nil {
		return Rotation{}, err
	}
	r.Text = text
	return r, nil
}

// within returns the path's organization, 0 for a path without one.
func within(ctx context.Context, tx ports.Tx, at Path) (orgs.ID, error) {
	if at.Organization == "" {
		return 0, nil
	}
	org, err := tx.Orgs().BySlug(ctx, at.Organization)
	return org.ID, err
}

func keyByID(ctx context.Context, tx ports.Tx, at Path, id access.ID) (access.Key, error) {
	org, err := within(ctx, tx, at)
	if err != nil {
		return access.Key{}, err
	}
	return tx.Keys().ByID(ctx, org, id)
}

// recordKey records a change to a key in the log of its organization, or else in the
// installation's.
func recordKey(ctx context.Context, tx ports.Tx, by audit.Actor, a audit.Action, k access.Key, before, after audit.State) error {
	var org orgs.Organization
	if k.Scope.Organization != "" {
		var err error
		if org, err = tx.Orgs().BySlug(ctx, k.Scope.Organization); err != nil {
			return err
		}
	}
	return record(ctx, tx, by, org.ID, a, Path(k.Scope).Object("keys", k.Name), before, after)
}

// keyState returns what the audit log says about a key: nothing with which it can be used.
func keyState(k access.Key) audit.State {
	s := audit.State{"id": k.ID, "name": k.Name, "grants": k.Grants, "expires": nil, "at_most_normal": k.AtMostNormal}
	if !k.Expires.IsZero() {
		s["expires"] = k.Expires.UTC()
	}
	return s
}
