package factors

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"unicode"

	"github.com/tocsin/tocsin/domain/operators"
)

// RecoveryCodes is how many recovery codes a user gets. Each works once.
const RecoveryCodes = 10

// recoverySize is the size of a recovery code in bytes: with 80 random bits a plain digest of it
// cannot be reversed.
const recoverySize = 10

// NewRecoveryCodes returns new codes, which are shown once and kept nowhere, and their digests.
func NewRecoveryCodes() (codes []string, ds []operators.Digest) {
	for range RecoveryCodes {
		var raw [recoverySize]byte
		_, _ = rand.Read(raw[:]) // Documented never to fail: it ends the program instead.
		text := secretEncoding.EncodeToString(raw[:])
		codes = append(codes, strings.ToLower(grouped(text, "-")))
		ds = append(ds, sha256.Sum256([]byte(text)))
	}
	return codes, ds
}

// ParseRecoveryCode returns the digest of a recovery code as typed, and reports whether it can be
// one. Hyphens, spaces and case do not count, and digits that no code has are read as the
// letters that they look like.
func ParseRecoveryCode(s string) (d operators.Digest, is bool) {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == '-' || unicode.IsSpace(r):
			return -1
		case r == '0':
			return 'O'
		case r == '1':
			return 'I'
		case r == '8':
			return 'B'
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, s)
	if raw, err := secretEncoding.DecodeString(text); err != nil || len(raw) != recoverySize || len(text) != secretEncoding.EncodedLen(recoverySize) {
		return d, false
	}
	return sha256.Sum256([]byte(text)), true
}
