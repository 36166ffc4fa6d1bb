package signon

import "context"

// AuthRequest is a request to sign in at the provider.
type AuthRequest struct {
	RedirectURI    string // our address to which the provider sends them back
	State          string // comes back unchanged
	Reauthenticate bool   // they have to sign in at the provider again, even with a session there
}

// Provider is an identity provider. Each method ends within its own time limit.
type Provider interface {
	// Begin returns the address to which to send a browser, and what has to be stored until it is
	// back; ErrUnavailable.
	Begin(ctx context.Context, w AuthRequest) (address string, held []byte, err error)
	// Finish returns the identity of the code with which the browser came back. from is the issuer
	// in the answer, empty when there was none. ErrUnavailable, ErrAnswer.
	Finish(ctx context.Context, w AuthRequest, held []byte, code, from string) (Identity, error)
	// Logout checks a logout token; ErrUnavailable, ErrAnswer.
	Logout(ctx context.Context, token string) (Logout, error)
	// EndSessionURL returns the address where a user ends their session at the provider, which then
	// sends them back to our address; empty when the provider has none. ErrUnavailable.
	EndSessionURL(ctx context.Context, back string) (string, error)
}
