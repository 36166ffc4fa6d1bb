package factors

import (
	"crypto/rand"
	"time"

	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/operators"
)

// handleSize is the size of a handle in bytes, as the specification recommends it.
const handleSize = 64

// Handle is how passkeys name an account: a random text that says nothing of whose it is. All
// passkeys of an account have the same.
type Handle []byte

// NewHandle returns a handle that no account has.
func NewHandle() Handle {
	h := make(Handle, handleSize)
	_, _ = rand.Read(h) // Documented never to fail: it ends the program instead.
	return h
}

// PasskeyID names a passkey.
type PasskeyID int64

// Passkey is a public key whose private key an authenticator of somebody keeps: a telephone, a
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

// Owner is whose passkeys are asked for or made.
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
// what the browser is asked, and checks what it answers. Asked is what the browser gets, in JSON;
// held is what has to be kept until it answers. A passkey is of use for one site alone, that of the
// installation's public address. Each time the authenticator makes sure, by a PIN or a finger, who
// holds it.
type Authenticators interface {
	// Site is the origin for which the passkeys are, such as https://notify.example.
	Site() string
	// Register asks for a new passkey of an owner, none of those whom the owner has.
	Register(o Owner) (asked, held []byte, err error)
	// Registered checks the answer and returns the handle, the credential and the record of a new
	// passkey; ErrPasskey.
	Registered(held, answer []byte) (Passkey, error)
	// Ask asks for a passkey of the owner. Of nobody in particular, the zero Owner, whoever has one
	// for this site may answer.
	Ask(o Owner) (asked, held []byte, err error)
	// Answered checks the answer to Ask and returns the passkey with its record as it is now; it is
	// blocked when its signatures were counted backwards, as happens when somebody has a copy. find
	// returns whose a credential is, or ErrNotFound. ErrPasskey.
	Answered(held, answer []byte, find func(credential []byte) (Owner, error)) (Passkey, error)
}
