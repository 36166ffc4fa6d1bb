package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tocsin/tocsin/ports"
)

// Keys are fetched again when they are older than keysMaxAge, so that a withdrawn key becomes
// invalid, and when a token names an unknown key. They are fetched at most once per
// keysMinInterval, because anybody can send tokens. While the provider is unavailable, keys stay
// valid for keysLifetime.
const (
	keysMaxAge      = time.Hour
	keysMinInterval = 10 * time.Second
	keysLifetime    = 24 * time.Hour
	maxKeys         = 100
)

// keys holds the public keys of a provider. It is safe for concurrent use.
type keys struct {
	client   *http.Client
	clock    ports.Clock
	fetching chan struct{} // full while a call fetches the keys

	mu      sync.Mutex
	address string
	known   []jose.JSONWebKey
	read    time.Time // when known was read
	fetched time.Time // when they were last requested
}

func newKeys(client *http.Client, clock ports.Clock) *keys {
	return &keys{client: client, clock: clock, fetching: make(chan struct{}, 1)}
}

// setURL sets the URL of the keys.
func (k *keys) setURL(address string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.address != address {
		k.address, k.known, k.read, k.fetched = address, nil, time.Time{}, time.Time{}
	}
}

// VerifySignature returns the payload of a token if one of the keys signed it. The caller has
// checked its algorithm.
func (k *keys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("oidc: there is not one signature")
	}
	id := signed.Signatures[0].Header.KeyID
	known, fresh := k.current()
	if fresh {
		if payload, ok := verify(signed, id, known); ok {
			return payload, nil
		}
	}
	asked, err := k.refresh(ctx)
	if err != nil {
		if payload, ok := verify(signed, id, asked); ok { // The keys known so far.
			return payload, nil
		}
		return nil, err
	}
	if payload, ok := verify(signed, id, asked); ok {
		return payload, nil
	}
	return nil, rejected("the signature is not the provider's")
}

// verify returns the signed payload if one of these keys signed it.
func verify(signed *jose.JSONWebSignature, id string, by []jose.JSONWebKey) ([]byte, bool) {
	for _, key := range by {
		if (id != "" && key.KeyID != id) || (key.Use != "" && key.Use != "sig") || !key.IsPublic() {
			continue
		}
		if payload, err := signed.Verify(key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// current returns the keys, and whether they are recent enough.
func (k *keys) current() ([]jose.JSONWebKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known, k.clock.Now().Before(k.read.Add(keysMaxAge))
}

// refresh fetches the keys, unless that was done within keysMinInterval. With an error it also
// returns the old keys, if they are still valid.
func (k *keys) refresh(ctx context.Context) ([]jose.JSONWebKey, error) {
	select {
	case k.fetching <- struct{}{}:
		defer func() { <-k.fetching }()
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	k.mu.Lock()
	now := k.clock.Now()
	address, known, early := k.address, k.known, now.Before(k.fetched.Add(keysMinInterval))
	if !now.Before(k.read.Add(keysLifetime)) {
		known = nil
	}
	if !early {
		k.fetched = now
	}
	k.mu.Unlock()
	if early {
		if known == nil {
			return nil, unavailable(errors.New("its keys could not be read a moment ago"))
		}
		return known, nil
	}
	found, err := k.fetch(ctx, address)
	if err != nil {
		return known, unavailable(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known, k.read = found, now
	return found, nil
}

// fetch fetches the keys. It omits keys of unknown types.
func (k *keys) fetch(ctx context.Context, address string) ([]jose.JSONWebKey, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // It was read.
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("oidc: the keys of the provider: %s", answer.Status)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, errors.New("oidc: the keys of the provider cannot be read")
	}
	var all []jose.JSONWebKey
	for _, raw := range set.Keys[:min(len(set.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if err := json.Unmarshal(raw, &key); err == nil {
			all = append(all, key)
		}
	}
	return all, nil
}
