// Package passkeys is a virtual authenticator for tests, like a telephone or a security key.
package passkeys

import (
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"
)

// Authenticator has one passkey. A test may change its fields between answers, to make it answer
// wrongly.
type Authenticator struct {
	Party      virtualwebauthn.RelyingParty // which it believes to speak with
	Device     virtualwebauthn.Authenticator
	Credential virtualwebauthn.Credential
}

// New returns an authenticator for the site with this host and origin.
func New(host, origin string) *Authenticator {
	return &Authenticator{Party: virtualwebauthn.RelyingParty{Name: "Tocsin", ID: host, Origin: origin},
		Device: virtualwebauthn.NewAuthenticator(), Credential: newCredential()}
}

// publicKey is the size of a public key in bytes, with two coordinates of 32 bytes.
const publicKey = 77

// newCredential creates a credential whose coordinates do not begin with a zero byte, which
// virtualwebauthn would omit.
func newCredential() virtualwebauthn.Credential {
	for {
		c := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		if len(c.Key.AttestationData()) == publicKey {
			return c
		}
	}
}

// Create creates the passkey that a site requests, and returns the answer.
func (a *Authenticator) Create(t testing.TB, asked []byte) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAttestationOptions(string(asked))
	require.NoError(t, err)
	a.Device.Options.UserHandle = []byte(options.UserID)
	return []byte(virtualwebauthn.CreateAttestationResponse(a.Party, a.Device, a.Credential, *options))
}

// Answer signs in with the passkey, and increments its counter.
func (a *Authenticator) Answer(t testing.TB, asked []byte) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(string(asked))
	require.NoError(t, err)
	a.Credential.Counter++
	return []byte(virtualwebauthn.CreateAssertionResponse(a.Party, a.Device, a.Credential, *options))
}
