package operators

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// A session ends when it was not used for SessionIdle, and after SessionLife in any case.
const (
	SessionIdle = 12 * time.Hour
	SessionLife = 7 * 24 * time.Hour
)

// SessionResolution is the precision of when a session was last used, so that not every page costs
// a write.
const SessionResolution = time.Minute

// Recent is how long after signing in a user may change security settings: keys, secrets, roles,
// passwords.
const Recent = 10 * time.Minute

// tokenLength is the length of a token: 256 bits in hex.
const tokenLength = 64

// Digest is the SHA-256 of a token, the only form in which it is stored.
type Digest [sha256.Size]byte

// Method is how a user signed in.
type Method string

// ByPassword is the method of a password.
const ByPassword Method = "password"

// Session is a sign-in of a user in one browser.
type Session struct {
	Digest        Digest
	Account       AccountID
	Created       time.Time
	Authenticated time.Time // when its holder last confirmed their identity
	Method        Method    // how
	Seen          time.Time // when it was last used, to SessionResolution
	Expires       time.Time
	Address       string // where it began
	Device        Digest // in which it began
}

// NewToken returns a random text.
func NewToken() string {
	var secret [tokenLength / 2]byte
	_, _ = rand.Read(secret[:]) // Documented never to fail: it ends the program instead.
	return hex.EncodeToString(secret[:])
}

// NewSession begins a session of a user who has just been authenticated, and returns its token,
// which only the browser keeps.
func NewSession(a AccountID, m Method, d Digest, address string, now time.Time) (s Session, token string) {
	token = NewToken()
	return Session{Digest: sha256.Sum256([]byte(token)), Account: a, Created: now, Authenticated: now, Method: m, Seen: now, Expires: now.Add(SessionLife),
		Address: address, Device: d}, token
}

// ParseToken returns the digest of a token; ErrNoSession when the text cannot be a token.
func ParseToken(token string) (Digest, error) {
	if len(token) != tokenLength || strings.Trim(token, "0123456789abcdef") != "" {
		return Digest{}, ErrNoSession
	}
	return sha256.Sum256([]byte(token)), nil
}

// Valid reports whether the session is valid.
func (s Session) Valid(now time.Time) bool {
	return now.Before(s.Expires) && now.Before(s.Seen.Add(SessionIdle))
}

// Stale reports whether the use of the session should be recorded again.
func (s Session) Stale(now time.Time) bool { return !now.Before(s.Seen.Add(SessionResolution)) }

// SessionRepository keeps sessions.
type SessionRepository interface {
	// Begin stores a new session of an account.
	Begin(ctx context.Context, s Session) error
	// Session finds a session with its account, whether it is over or not; ErrNoSession.
	Session(ctx context.Context, d Digest) (Session, AccountAccess, error)
	// Touch records when a session was last used; an earlier time never replaces a later one.
	Touch(ctx context.Context, d Digest, at time.Time) error
	// Authenticated records when, and how, the holder of a session confirmed their identity.
	Authenticated(ctx context.Context, d Digest, m Method, at time.Time) error
	// End deletes a session, if it exists.
	End(ctx context.Context, d Digest) error
	// EndAll deletes every session of an account and returns how many it deleted.
	EndAll(ctx context.Context, a AccountID) (int, error)
	// EndOthers deletes every session of an account but one and returns how many it deleted.
	EndOthers(ctx context.Context, a AccountID, keep Digest) (int, error)
	// Sessions returns the sessions of an account, over or not, the most recently used first, at
	// most limit.
	Sessions(ctx context.Context, a AccountID, limit int) ([]Session, error)
	// Sweep deletes the sessions, the invitations and the devices that have expired.
	Sweep(ctx context.Context, now time.Time) error
}
