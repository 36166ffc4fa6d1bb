package signon

import "context"

// Wish is what somebody is sent to the provider for.
type Wish struct {
	Return string // the address of ours that the provider sends them back to
	State  string // comes back unchanged
	Again  bool   // they have to show the provider once more who they are, whatever it remembers
}

// Provider speaks with an identity provider. Each method is done within its own time limit,
// whatever the provider does.
type Provider interface {
	// Begin returns the address to which to send a browser, and what has to be kept until it is
	// back; ErrAway.
	Begin(ctx context.Context, w Wish) (address string, held []byte, err error)
	// Finish returns whose the code is that the browser came back with. from is the issuer that the
	// answer named, empty when it named none. ErrAway, ErrAnswer.
	Finish(ctx context.Context, w Wish, held []byte, code, from string) (Identity, error)
	// Logout checks a logout token; ErrAway, ErrAnswer.
	Logout(ctx context.Context, token string) (Logout, error)
	// Leave returns the address where somebody ends their session at the provider, who then sends
	// them back to an address of ours; empty when the provider has no such thing. ErrAway.
	Leave(ctx context.Context, back string) (string, error)
}
