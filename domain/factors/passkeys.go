package factors

import (
	"crypto/rand"
	"time"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/operators"
)

// handleSize is the size of a handle in bytes, as the specification recommends it.
const handleSize = 64

// Handle identifies an account in its passkeys. It is random, so that it does not reveal the user.
// All passkeys of an account have the same handle.
type Handle []byte

// NewHandle returns a handle that no account has.
func NewHandle() Handle {
	h := make(Handle, handleSize)
	_, _ = rand.Read(h) // Documented never to fail: it ends the program instead.
	return h
}

// PasskeyID names a passkey.
type PasskeyID int64

// Passkey is a public key whose private key is kept by an authenticator of the user: a telephone, a
// computer, a password manager, a security key.
type Passkey struct {
	ID         PasskeyID
	Account    operators.AccountID
	Handle     Handle
	Credential []byte // the id that the authenticator gave it
	Name       string // by which its holder knows it
	Record     []byte // the public key and what else is needed to check an answer, in the words of the Authenticators port
	Blocked    bool   // there may be a copy of it: it opens nothing any more
	Created    time.Time
	Used       time.Time
}

// MaxAnswer is the size of the largest answer of an authenticator, in bytes.
const MaxAnswer = 16 << 10

// Owner is the user whose passkeys are requested or created.
type Owner struct {
	Handle   Handle
	Username string
	Passkeys []Passkey
}

// PasskeyName checks the name of a passkey; without one it is called by what it is.
func PasskeyName(s string) (string, error) {
	name, err := names.OptionalLabel("name", s)
	if name == "" {
		name = "Passkey"
	}
	return name, err
}

// Authenticators speaks with the authenticators that keep passkeys, through the browser: it makes
// the requests and checks the answers. asked is the request for the browser, in JSON; held has to
// be kept until the answer arrives. A passkey works only for one site, that of the installation's
// public address. The authenticator verifies its user each time, by a PIN or a fingerprint.
type Authenticators interface {
	// Origin is the origin of the passkeys, such as https://notify.example.
	Origin() string
	// BeginRegistration requests a new passkey of an owner, on an authenticator that has none of
	// them yet.
	BeginRegistration(o Owner) (asked, held []byte, err error)
	// FinishRegistration checks the answer and returns the handle, the credential and the record of
	// a new passkey; ErrPasskey.
	FinishRegistration(held, answer []byte) (Passkey, error)
	// BeginAssertion requests a passkey of the owner. For the zero Owner, any passkey for this site
	// will do.
	BeginAssertion(o Owner) (asked, held []byte, err error)
	// FinishAssertion checks the answer to BeginAssertion and returns the passkey with its record
	// as it is now; it is blocked when its counter of signatures went back, which means that there
	// is a copy of it. find returns the owner of a credential, or ErrNotFound. ErrPasskey.
	FinishAssertion(held, answer []byte, find func(credential []byte) (Owner, error)) (Passkey, error)
}
