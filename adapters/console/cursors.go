package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// cursors encrypts the positions in links to next pages. A search may stop at a member that it does
// not show, and the link must not reveal that member.
type cursors struct {
	aead    cipher.AEAD
	nonceOf []byte // the key of the nonces
}

// newCursors derives the keys from the installation's secret, so that every instance can read them.
// Without a secret only this process can.
func newCursors(secret []byte) (cursors, error) {
	if len(secret) == 0 {
		secret = make([]byte, sha256.Size)
		if _, err := rand.Read(secret); err != nil {
			return cursors{}, err
		}
	}
	keys, err := hkdf.Key(sha256.New, secret, nil, "tocsin console cursors", 2*sha256.Size)
	if err != nil {
		return cursors{}, err
	}
	block, err := aes.NewCipher(keys[:sha256.Size])
	if err != nil {
		return cursors{}, err
	}
	aead, err := cipher.NewGCM(block)
	return cursors{aead: aead, nonceOf: keys[sha256.Size:]}, err
}

// seal returns a cursor of a page as an opaque text, the same one each time. The nonce is a MAC of
// the content, so only equal cursors of one page share it.
func (s cursors) seal(page string, cursor any) string {
	text, err := json.Marshal(cursor)
	if err != nil {
		return "" // Cannot happen: cursors are numbers and texts.
	}
	mac := hmac.New(sha256.New, s.nonceOf)
	mac.Write([]byte(page + "\x00"))
	mac.Write(text)
	nonce := mac.Sum(nil)[:s.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, text, []byte(page)))
}

// open reads what seal returned for the page. Any other text leaves the cursor unchanged.
func (s cursors) open(page, sealed string, cursor any) {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(data) < s.aead.NonceSize() {
		return
	}
	nonce, data := data[:s.aead.NonceSize()], data[s.aead.NonceSize():]
	if text, err := s.aead.Open(nil, nonce, data, []byte(page)); err == nil {
		_ = json.Unmarshal(text, cursor) // Cannot fail: seal wrote it.
	}
}
