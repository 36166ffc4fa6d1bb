// Package seal encrypts stored texts under the installation's key, and decrypts them with that or
// an earlier key. It knows AES and keys, but not what the texts contain or where they are stored.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// KeySize is the size of the secret that a key is derived from, in bytes.
const KeySize = 32

// The errors of a text that cannot be opened, and of a ring that cannot seal.
var (
	ErrNoKey      = errors.New("there is no key")
	ErrUnknownKey = errors.New("sealed under another key")
	ErrDamaged    = errors.New("changed since it was sealed, or sealed for another place")
)

// Scheme is the prefix of every sealed text; key id and content follow:
// `sealed:1:0123456789abcdef:BASE64`. The content is AES-256-GCM: a random nonce of 12 bytes, the
// ciphertext, a tag of 16 bytes.
const Scheme = "sealed:1:"

// PrefixSize is the length of what Prefix returns.
const PrefixSize = len(Scheme) + 2*idSize + len(":")

// The purposes of derived keys. Other packages derive keys from the same secret, with their own
// purposes.
const (
	purposeKey = "tocsin seal 1: AES-256-GCM"
	purposeID  = "tocsin seal 1: key id"
	idSize     = 8 // bytes
)

// encoding is strict, so that each content has exactly one text.
var encoding = base64.RawStdEncoding.Strict()

// Ring is the keys of an installation. It is safe for concurrent use. The zero value has no key: it
// neither seals nor opens.
type Ring struct {
	keys []key // the first one seals
}

// key is derived from one secret: a cipher, and an id that reveals nothing of the secret.
type key struct {
	id   string
	aead cipher.AEAD
}

// NewRing returns the ring that seals under the current secret, and opens texts sealed under that
// or a previous one.
func NewRing(current [KeySize]byte, previous ...[KeySize]byte) Ring {
	keys := []key{newKey(current)}
	for _, secret := range previous {
		keys = append(keys, newKey(secret))
	}
	return Ring{keys: keys}
}

func newKey(secret [KeySize]byte) key {
	id, err := hkdf.Key(sha256.New, secret[:], nil, purposeID, idSize)
	must(err)
	derived, err := hkdf.Key(sha256.New, secret[:], nil, purposeKey, KeySize)
	must(err)
	block, err := aes.NewCipher(derived)
	must(err)
	aead, err := cipher.NewGCMWithRandomNonce(block)
	must(err)
	return key{id: hex.EncodeToString(id), aead: aead}
}

// must panics on an error, which only a key of the wrong size causes.
func must(err error) {
	if err != nil {
		panic("seal: " + err.Error())
	}
}

// Seal encrypts a text under the current key and binds it to a place: Open needs the same place. It
// returns ErrNoKey if there is no key.
func (r Ring) Seal(text []byte, place string) (string, error) {
	begin, err := r.Prefix()
	if err != nil {
		return "", err
	}
	content := r.keys[0].aead.Seal(nil, nil, text, bound(begin, place)) //nolint:gosec // The cipher generates the nonce itself and takes none.
	return begin + encoding.EncodeToString(content), nil
}

// Open decrypts a text that was sealed for this place; ErrNoKey, ErrUnknownKey, ErrDamaged.
func (r Ring) Open(sealed, place string) ([]byte, error) {
	id, content, found := strings.Cut(strings.TrimPrefix(sealed, Scheme), ":")
	if !IsSealed(sealed) || !found || strings.ContainsAny(content, "\r\n") { // The decoder would ignore these.
		return nil, ErrDamaged
	}
	if len(r.keys) == 0 {
		return nil, ErrNoKey
	}
	i := slices.IndexFunc(r.keys, func(k key) bool { return k.id == id })
	if i < 0 {
		return nil, ErrUnknownKey
	}
	raw, err := encoding.DecodeString(content)
	if err != nil {
		return nil, ErrDamaged
	}
	text, err := r.keys[i].aead.Open(nil, nil, raw, bound(prefix(id), place))
	if err != nil {
		return nil, ErrDamaged
	}
	return text, nil
}

// Current returns the ring without the previous keys.
func (r Ring) Current() Ring { return Ring{keys: r.keys[:min(len(r.keys), 1)]} }

// Prefix returns the prefix of all texts sealed under the current key, and of no others; ErrNoKey.
// It contains no SQL wildcard.
func (r Ring) Prefix() (string, error) {
	if len(r.keys) == 0 {
		return "", ErrNoKey
	}
	return prefix(r.keys[0].id), nil
}

// Prefixes returns the prefixes of all texts that can be opened; none without a key.
func (r Ring) Prefixes() []string {
	all := make([]string, len(r.keys))
	for i, k := range r.keys {
		all[i] = prefix(k.id)
	}
	return all
}

// String returns the ids of the keys.
func (r Ring) String() string {
	ids := make([]string, len(r.keys))
	for i, k := range r.keys {
		ids[i] = k.id
	}
	return strings.Join(ids, " ")
}

// Format prints the ids of the keys and nothing of the keys, whatever the verb.
func (r Ring) Format(f fmt.State, _ rune) { fmt.Fprint(f, r.String()) }

// IsSealed reports whether a text looks sealed, under any key.
func IsSealed(text string) bool { return strings.HasPrefix(text, Scheme) }

// KeyID returns the id of the key in a sealed text; empty for a text that is not sealed. It is at
// most as long as a valid id.
func KeyID(text string) string {
	if !IsSealed(text) {
		return ""
	}
	id, _, _ := strings.Cut(text[len(Scheme):], ":")
	return id[:min(len(id), hex.EncodedLen(idSize))]
}

func prefix(id string) string { return Scheme + id + ":" }

// bound returns the additional authenticated data of a content.
func bound(begin, place string) []byte { return []byte(begin + place) }
