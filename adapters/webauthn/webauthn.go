// Package webauthn registers and checks passkeys (Web Authentication). It knows the requests to
// browsers and their responses, but no account, page or database.
package webauthn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	fido "github.com/go-webauthn/webauthn/webauthn"
	"golang.org/x/net/idna"

	"github.com/tocsin/tocsin/domain/factors"
)

// maxCredential is the maximum length of a credential id, in bytes, by the specification.
const maxCredential = 1023

// Authenticators are the authenticators of the users of one site. It is safe for concurrent use.
type Authenticators struct {
	site string
	rp   *fido.WebAuthn
}

var _ factors.Authenticators = (*Authenticators)(nil)

// New returns the authenticators for the site with this public address; factors.ErrPasskeysOff if
// browsers do not support passkeys there. They need https or localhost, and a host that is a name.
func New(baseURL string) (*Authenticators, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, factors.ErrPasskeysOff
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil, factors.ErrPasskeysOff
	}
	host, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil || host == "" || (u.Scheme != "https" && host != "localhost") {
		return nil, factors.ErrPasskeysOff
	}
	site := u.Scheme + "://" + host
	if port := u.Port(); port != "" && port != map[string]string{"https": "443", "http": "80"}[u.Scheme] { // Browsers omit the default port in an origin.
		site += ":" + port
	}
	rp, err := fido.New(&fido.Config{RPID: host, RPDisplayName: "Tocsin", RPOrigins: []string{site},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: protocol.ResidentKeyRequired(),
			ResidentKey:        protocol.ResidentKeyRequirementRequired,
			UserVerification:   protocol.VerificationRequired,
		},
		// Password managers send extensions that were not requested. All are ignored.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", factors.ErrPasskeysOff, err)
	}
	return &Authenticators{site: site, rp: rp}, nil
}

// Origin returns the origin of the passkeys.
func (a *Authenticators) Origin() string { return a.site }

// BeginRegistration requests a new passkey of an owner.
func (a *Authenticators) BeginRegistration(o factors.Owner) (asked, held []byte, err error) {
	u, err := newUser(o)
	if err != nil {
		return nil, nil, err
	}
	creation, session, err := a.rp.BeginRegistration(u, fido.WithExclusions(fido.Credentials(u.credentials).CredentialDescriptors()))
	if err != nil {
		return nil, nil, err
	}
	return marshalBoth(creation.Response, session)
}

// FinishRegistration checks the browser's answer to BeginRegistration and returns the new passkey.
func (a *Authenticators) FinishRegistration(held, answer []byte) (factors.Passkey, error) {
	var session fido.SessionData
	if err := json.Unmarshal(held, &session); err != nil {
		return factors.Passkey{}, err
	}
	if len(answer) > factors.MaxAnswer {
		return factors.Passkey{}, factors.ErrPasskey
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return factors.Passkey{}, invalid(err)
	}
	c, err := a.rp.CreateCredential(user{Owner: factors.Owner{Handle: session.UserID}}, session, parsed)
	if err != nil {
		return factors.Passkey{}, invalid(err)
	}
	if len(c.ID) > maxCredential {
		return factors.Passkey{}, factors.ErrPasskey
	}
	c.Attestation = fido.CredentialAttestation{} // It is not used again.
	record, err := json.Marshal(c)
	return factors.Passkey{Handle: session.UserID, Credential: c.ID, Record: record}, err
}

// BeginAssertion requests a passkey of the owner, or of any owner.
func (a *Authenticators) BeginAssertion(o factors.Owner) (asked, held []byte, err error) {
	verified := fido.WithUserVerification(protocol.VerificationRequired)
	if len(o.Passkeys) == 0 {
		request, session, err := a.rp.BeginDiscoverableLogin(verified)
		if err != nil {
			return nil, nil, err
		}
		return marshalBoth(request.Response, session)
	}
	u, err := newUser(o)
	if err != nil {
		return nil, nil, err
	}
	request, session, err := a.rp.BeginLogin(u, verified)
	if err != nil {
		return nil, nil, err
	}
	return marshalBoth(request.Response, session)
}

// FinishAssertion checks the browser's answer to BeginAssertion and returns the updated passkey.
func (a *Authenticators) FinishAssertion(held, answer []byte, find func(credential []byte) (factors.Owner, error)) (factors.Passkey, error) {
	var session fido.SessionData
	if err := json.Unmarshal(held, &session); err != nil {
		return factors.Passkey{}, err
	}
	if len(answer) > factors.MaxAnswer {
		return factors.Passkey{}, factors.ErrPasskey
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return factors.Passkey{}, invalid(err)
	}
	o, err := find(parsed.RawID)
	if errors.Is(err, factors.ErrNotFound) {
		err = factors.ErrPasskey
	}
	if err != nil {
		return factors.Passkey{}, err
	}
	u, err := newUser(o)
	if err != nil {
		return factors.Passkey{}, err
	}
	c, err := a.check(u, session, parsed)
	if err != nil {
		return factors.Passkey{}, invalid(err)
	}
	for _, p := range o.Passkeys {
		if bytes.Equal(p.Credential, c.ID) {
			p.Record, err = json.Marshal(c)
			p.Blocked = p.Blocked || c.Authenticator.CloneWarning
			return p, err
		}
	}
	return factors.Passkey{}, factors.ErrPasskey
}

// check checks an assertion against its owner's credential.
func (a *Authenticators) check(u user, session fido.SessionData, parsed *protocol.ParsedCredentialAssertionData) (*fido.Credential, error) {
	if len(session.UserID) == 0 {
		return a.rp.ValidateDiscoverableLogin(func(_, _ []byte) (fido.User, error) { return u, nil }, session, parsed)
	}
	return a.rp.ValidateLogin(u, session, parsed)
}

// invalid returns the error of an invalid answer, with the library's reason for the log.
func invalid(err error) error {
	if p, is := errors.AsType[*protocol.Error](err); is {
		return fmt.Errorf("%w: %s: %s", factors.ErrPasskey, p.Details, p.DevInfo)
	}
	return fmt.Errorf("%w: %w", factors.ErrPasskey, err)
}

// marshalBoth returns the request for the browser and the session to store, in JSON.
func marshalBoth(request any, session *fido.SessionData) (asked, held []byte, err error) {
	if asked, err = json.Marshal(request); err != nil {
		return nil, nil, err
	}
	held, err = json.Marshal(session)
	return asked, held, err
}

// user is an owner in the form that the library needs.
type user struct {
	factors.Owner

	credentials []fido.Credential
}

var _ fido.User = user{}

func newUser(o factors.Owner) (user, error) {
	u := user{Owner: o}
	for _, p := range o.Passkeys {
		var c fido.Credential
		if err := json.Unmarshal(p.Record, &c); err != nil {
			return user{}, fmt.Errorf("passkey %d: %w", p.ID, err)
		}
		u.credentials = append(u.credentials, c)
	}
	return u, nil
}

func (u user) WebAuthnID() []byte                     { return u.Handle }
func (u user) WebAuthnName() string                   { return u.Username }
func (u user) WebAuthnDisplayName() string            { return u.Username }
func (u user) WebAuthnCredentials() []fido.Credential { return u.credentials }
