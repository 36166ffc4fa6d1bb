// Package passkeys is an authenticator that keeps passkeys, as tests use it in the place of a
// telephone or a security key.
package passkeys

import (
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"
)

// Authenticator keeps one passkey. Its fields may be changed between answers, to answer wrongly.
type Authenticator struct {
	Party      virtualwebauthn.RelyingParty // which it believes to speak with
	Keeper     virtualwebauthn.Authenticator
	Credential virtualwebauthn.Credential
}

// New returns an authenticator for the site with this host and origin.
func New(host, origin string) *Authenticator {
	return &Authenticator{Party: virtualwebauthn.RelyingParty{Name: "Tocsin", ID: host, Origin: origin},
		Keeper: virtualwebauthn.NewAuthenticator(), Credential: newCredential()}
}

// publicKey is the size of a public key in bytes, with two coordinates of 32 bytes.
const publicKey = 77

// newCredential makes a credential whose coordinates begin with no zero byte, which virtualwebauthn
// would leave out.
func newCredential() virtualwebauthn.Credential {
	for {
		c := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		if len(c.Key.AttestationData()) == publicKey {
			return c
		}
	}
}

// Create makes the passkey that a site asks for, and returns the answer.
func (a *Authenticator) Create(t testing.TB, asked []byte) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAttestationOptions(string(asked))
	require.NoError(t, err)
	a.Keeper.Options.UserHandle = []byte(options.UserID)
	return []byte(virtualwebauthn.CreateAttestationResponse(a.Party, a.Keeper, a.Credential, *options))
}

// Answer shows the passkey, and counts that it did.
func (a *Authenticator) Answer(t testing.TB, asked []byte) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(string(asked))
	require.NoError(t, err)
	a.Credential.Counter++
	return []byte(virtualwebauthn.CreateAssertionResponse(a.Party, a.Keeper, a.Credential, *options))
}
