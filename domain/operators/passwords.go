package operators

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/tocsin/tocsin/domain/fault"
)

// How long a password must and may be, in characters. Apart from that it must not be a common one.
const (
	MinPassword = 12
	MaxPassword = 200
)

// The cost of argon2id, as OWASP recommends it: 19 MiB, twice, one lane. Hashes carry the cost that
// they were made with.
const (
	memory  = 19 << 10 // KiB
	passes  = 2
	lanes   = 1
	saltLen = 16
	sumLen  = 32
)

// Password is a password that may be set. It prints as ***, so that no log contains it.
type Password struct{ text string }

// NewPassword checks a password. It is taken as it is, white space included; spellings of one
// character count as the same.
func NewPassword(field, s string) (Password, error) {
	text := norm.NFKC.String(s)
	n := utf8.RuneCountInString(text)
	switch {
	case !utf8.ValidString(s):
		return Password{}, fault.Field(field, "is not valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return Password{}, fault.Field(field, "contains a control character")
	case n < MinPassword:
		return Password{}, fault.Field(field, "is shorter than %d characters", MinPassword)
	case n > MaxPassword:
		return Password{}, fault.Field(field, "is longer than %d characters", MaxPassword)
	case isCommon(text):
		return Password{}, fault.Field(field, "is too common: many people use it, or one that differs by some digits, and it is guessed first")
	}
	return Password{text}, nil
}

// String hides the password.
func (Password) String() string { return "***" }

// GoString hides it from %#v, too.
func (Password) GoString() string { return "***" }

// Hash hashes the password with the salt of the user's other hashes, so that one derivation
// compares a text with all of them; without any, with a new salt.
func (p Password) Hash(others ...Hash) Hash {
	for _, h := range others {
		if c, salt, known := h.parse(); known {
			return derive(p.text, c, salt)
		}
	}
	var salt [saltLen]byte
	_, _ = rand.Read(salt[:]) // Documented never to fail: it ends the program instead.
	return derive(p.text, cost{memory: memory, passes: passes, lanes: lanes}, salt[:])
}

// Is reports whether this is the password of a hash.
func (p Password) Is(h Hash) bool { return h.Matches(p.text) }

// Hash is the stored form of a password: argon2id with its cost and its salt, in the PHC string
// format.
type Hash string

// Matches reports whether a text is the password.
func (h Hash) Matches(text string) bool { return Match(text, h) == 0 }

// Match returns which of a user's hashes is that of a text, the first of several, -1 for none. It
// takes equally long for no hash, for the zero one, which nothing matches, for any other and for
// several, so that its time does not reveal who can sign in, nor how.
func Match(text string, hashes ...Hash) int {
	if utf8.RuneCountInString(text) > MaxPassword {
		text = "" // It cannot be right; hashing it would cost as much as its length.
	}
	text = norm.NFKC.String(text)
	derived := map[string]Hash{} // by cost and salt, which the hashes of one user share
	found := -1
	for i, h := range hashes {
		c, salt, known := h.parse()
		if !known {
			continue
		}
		under := fmt.Sprintf("%+v %x", c, salt)
		if derived[under] == "" {
			derived[under] = derive(text, c, salt)
		}
		if subtle.ConstantTimeCompare([]byte(derived[under]), []byte(h)) == 1 && found < 0 {
			found = i
		}
	}
	if len(derived) == 0 {
		derive(text, cost{memory: memory, passes: passes, lanes: lanes}, make([]byte, saltLen))
	}
	return found
}

// cost is the cost of one hash.
type cost struct {
	memory, passes uint32
	lanes          uint8
}

var encoding = base64.RawStdEncoding

func derive(text string, c cost, salt []byte) Hash {
	sum := argon2.IDKey([]byte(text), salt, c.passes, c.memory, c.lanes, sumLen)
	return Hash(fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.passes, c.lanes,
		encoding.EncodeToString(salt), encoding.EncodeToString(sum)))
}

// parse parses a hash of derive.
func (h Hash) parse() (c cost, salt []byte, ok bool) {
	parts := strings.Split(string(h), "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost{}, nil, false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); err != nil || c.passes == 0 || c.lanes == 0 {
		return cost{}, nil, false
	}
	salt, err := encoding.DecodeString(parts[4])
	return c, salt, err == nil
}
