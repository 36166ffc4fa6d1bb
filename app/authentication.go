package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/ports"
)

// KeyCacheLifetime is how long an instance trusts what it knows of a key: a key that another
// process revokes stops here within this time (decisions 1 allow 5 s).
const KeyCacheLifetime = 4 * time.Second

// maxCachedKeys bounds the memory of the cache. Only keys that exist enter it, so strangers cannot
// fill it.
const maxCachedKeys = 10_000

// Authentication tells whose key a text is, and remembers when each key was last used. It asks the
// store once per key and KeyCacheLifetime, not once per request.
type Authentication struct {
	store ports.Store
	clock ports.Clock

	mu    sync.RWMutex
	known map[access.Digest]knownKey
	times int      // that everything was forgotten
	used  sync.Map // access.ID → time.Time, to the minute, since the last RecordUse
}

type knownKey struct {
	key  access.Key
	read time.Time
}

// trusted reports whether what is known is young enough. A clock that was set back does not make it
// younger.
func (k knownKey) trusted(now time.Time) bool {
	age := now.Sub(k.read)
	return age >= 0 && age < KeyCacheLifetime
}

var _ access.Authenticator = (*Authentication)(nil)

// NewAuthentication returns an authenticator over the keys of a store.
func NewAuthentication(store ports.Store, clock ports.Clock) *Authentication {
	return &Authentication{store: store, clock: clock, known: map[access.Digest]knownKey{}}
}

// Authenticate returns the key whose text is given. Missing, malformed, unknown, expired and
// revoked keys get the same answer, access.ErrUnauthenticated.
func (a *Authentication) Authenticate(ctx context.Context, token string) (access.Key, error) {
	digest, err := access.ParseToken(token)
	if err != nil {
		return access.Key{}, err
	}
	now := a.clock.Now()
	key, err := a.lookUp(ctx, digest, now)
	if errors.Is(err, access.ErrKeyNotFound) || (err == nil && !key.Valid(now)) {
		return access.Key{}, access.ErrUnauthenticated
	}
	if err != nil {
		return access.Key{}, err
	}
	a.note(key, now)
	return key, nil
}

func (a *Authentication) lookUp(ctx context.Context, d access.Digest, now time.Time) (access.Key, error) {
	a.mu.RLock()
	k, found := a.known[d]
	times := a.times
	a.mu.RUnlock()
	if found && k.trusted(now) {
		return k.key, nil
	}
	var key access.Key
	err := a.store.View(ctx, func(tx ports.Tx) (err error) {
		key, err = tx.Keys().ByDigest(ctx, d)
		return err
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		delete(a.known, d)
		return access.Key{}, err
	}
	if times != a.times { // It may have been read before what made us forget.
		return key, nil
	}
	if len(a.known) >= maxCachedKeys {
		clear(a.known)
	}
	a.known[d] = knownKey{key: key, read: now}
	return key, nil
}

func (a *Authentication) note(key access.Key, now time.Time) {
	minute := now.Truncate(time.Minute)
	if last, noted := a.used.Load(key.ID); (noted && !last.(time.Time).Before(minute)) || !key.LastUsed.Before(minute) {
		return
	}
	a.used.Store(key.ID, minute)
}

// Forget makes the next call of every key ask the store again, so that a key which this instance
// revoked stops at once.
func (a *Authentication) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.known)
	a.times++
}

// RecordUse stores when keys were last used since the last call. What cannot be stored is kept for
// the next call.
func (a *Authentication) RecordUse(ctx context.Context) error {
	moments := map[access.ID]time.Time{}
	a.used.Range(func(id, at any) bool {
		moments[id.(access.ID)] = at.(time.Time)
		return true
	})
	if len(moments) == 0 {
		return nil
	}
	err := a.store.Update(ctx, func(tx ports.Tx) error { return tx.Keys().Used(ctx, moments) })
	if err != nil {
		return err
	}
	for id, at := range moments {
		a.used.CompareAndDelete(id, at)
	}
	return nil
}
