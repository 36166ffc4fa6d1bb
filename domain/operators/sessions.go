package operators

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/users"
)

// A session ends when it was not used for SessionIdle, and after SessionLife in any case.
const (
	SessionIdle = 12 * time.Hour
	SessionLife = 7 * 24 * time.Hour
)

// SessionGrain is how exactly it is known when a session was last used, so that not every page costs a write.
const SessionGrain = time.Minute

// tokenLength is the length of a session's token: 256 bits in hex.
const tokenLength = 64

// Digest is the SHA-256 of a session's token, the only form in which it is stored.
type Digest [sha256.Size]byte

// Session is somebody's being signed in, in one browser.
type Session struct {
	Digest  Digest
	User    users.ID
	Created time.Time
	Seen    time.Time // to SessionGrain
	Expires time.Time
	Address string // where it began
}

// NewToken returns a text that nobody can guess.
func NewToken() string {
	var secret [tokenLength / 2]byte
	_, _ = rand.Read(secret[:]) // Documented never to fail: it ends the program instead.
	return hex.EncodeToString(secret[:])
}

// NewSession begins a session and returns its token, which only the browser keeps.
func NewSession(u users.ID, address string, now time.Time) (s Session, token string) {
	token = NewToken()
	return Session{Digest: sha256.Sum256([]byte(token)), User: u, Created: now, Seen: now, Expires: now.Add(SessionLife), Address: address}, token
}

// ParseToken returns the digest of a session's token; ErrNoSession when no token can look like this.
func ParseToken(token string) (Digest, error) {
	if len(token) != tokenLength || strings.Trim(token, "0123456789abcdef") != "" {
		return Digest{}, ErrNoSession
	}
	return sha256.Sum256([]byte(token)), nil
}

// Valid tells whether the session still holds.
func (s Session) Valid(now time.Time) bool {
	return now.Before(s.Expires) && now.Before(s.Seen.Add(SessionIdle))
}

// Stale tells whether it is time to note again that the session is used.
func (s Session) Stale(now time.Time) bool { return !now.Before(s.Seen.Add(SessionGrain)) }
