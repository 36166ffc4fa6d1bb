package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/ports"
)

// KeyCacheLifetime is how long an instance trusts its cache of a key: a key that another process
// revokes stops here within this time (decisions 1 allow 5 s).
const KeyCacheLifetime = 4 * time.Second

// The cache entry of a key in use is renewed in the background from the age keyRenewal on. The read
// takes at most keyPatience, and no call waits for it.
const (
	keyRenewal  = KeyCacheLifetime / 2
	keyPatience = 5 * time.Second
)

// maxCachedKeys bounds the memory of the cache. Only existing keys enter it, so requests without a
// valid key cannot fill it.
const maxCachedKeys = 10_000

// Authentication finds the key of a text, and remembers when each key was last used. It reads a key
// from the store once per KeyCacheLifetime, not once per request.
type Authentication struct {
	store ports.Store
	clock ports.Clock

	mu    sync.RWMutex
	known map[access.Digest]knownKey
	// generation grows when the cache is cleared. A key whose read began in an earlier generation
	// does not enter the cache.
	generation int
	used       sync.Map // access.ID → time.Time, to the minute, since the last RecordUse
}

type knownKey struct {
	key     access.Key
	read    time.Time
	renewed *atomic.Bool // whether it is being read again
}

// trusted reports whether a cache entry is young enough. Setting the clock back does not make it
// younger.
func (k knownKey) trusted(now time.Time) bool {
	age := now.Sub(k.read)
	return age >= 0 && age < KeyCacheLifetime
}

var _ access.Authenticator = (*Authentication)(nil)

// NewAuthentication returns an authenticator for the keys of a store.
func NewAuthentication(store ports.Store, clock ports.Clock) *Authentication {
	return &Authentication{store: store, clock: clock, known: map[access.Digest]knownKey{}}
}

// Authenticate returns the key with this text. Missing, malformed, unknown, expired and revoked
// keys get the same answer, access.ErrUnauthenticated.
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
	a.mu.RUnlock()
	if !found || !k.trusted(now) {
		return a.read(ctx, d, now)
	}
	if now.Sub(k.read) >= keyRenewal && k.renewed.CompareAndSwap(false, true) {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyPatience)
			defer cancel()
			_, _ = a.read(ctx, d, now) // After an error the next call reads it.
		}()
	}
	return k.key, nil
}

// read reads a key and keeps it in the cache.
func (a *Authentication) read(ctx context.Context, d access.Digest, now time.Time) (access.Key, error) {
	a.mu.RLock()
	generation := a.generation
	a.mu.RUnlock()
	key, err := ports.View(ctx, a.store, func(tx ports.Tx) (access.Key, error) {
		return tx.Keys().ByDigest(ctx, d)
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		delete(a.known, d)
		return access.Key{}, err
	}
	if generation != a.generation { // It may have been read before the change that cleared the cache.
		return key, nil
	}
	if len(a.known) >= maxCachedKeys {
		clear(a.known)
	}
	a.known[d] = knownKey{key: key, read: now, renewed: &atomic.Bool{}}
	return key, nil
}

func (a *Authentication) note(key access.Key, now time.Time) {
	minute := now.Truncate(time.Minute)
	if last, noted := a.used.Load(key.ID); (noted && !last.(time.Time).Before(minute)) || !key.LastUsed.Before(minute) {
		return
	}
	a.used.Store(key.ID, minute)
}

// Forget clears the cache, so that a key which this instance revoked stops at once.
func (a *Authentication) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.known)
	a.generation++
}

// RecordUse stores when keys were last used since the last call. After a failure it keeps the times
// for the next call.
func (a *Authentication) RecordUse(ctx context.Context) error {
	moments := map[access.ID]time.Time{}
	a.used.Range(func(id, at any) bool {
		moments[id.(access.ID)] = at.(time.Time)
		return true
	})
	if len(moments) == 0 {
		return nil
	}
	err := a.store.Update(ctx, func(tx ports.Tx) error { return tx.Keys().RecordUse(ctx, moments) })
	if err != nil {
		return err
	}
	for id, at := range moments {
		a.used.CompareAndDelete(id, at)
	}
	return nil
}
