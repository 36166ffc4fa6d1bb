// Package oidc is a client of OpenID Connect: it signs users in with the authorization code flow
// and PKCE, and checks logout tokens. It knows the protocol, but not what an identity may do.
package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/ports"
)

// Timeouts and lifetimes.
const (
	callTimeout  = 10 * time.Second // for all calls to the provider during one request of a browser
	discoveryAge = time.Hour        // how long the discovery document is cached
	retryPause   = 5 * time.Second  // the pause after a failed discovery
)

// algorithms are those that sign with a private key. Signatures with a shared secret, and none, are
// not allowed.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// Settings configure the provider, and the names of its claims.
type Settings struct {
	Issuer        string
	ClientID      string
	ClientSecret  string // empty: a public client, with PKCE only
	Scopes        []string
	UsernameClaim string
	GroupsClaim   string // empty: none
}

// Provider is an identity provider. The first sign-in contacts it, so that the server starts
// without it. It is safe for concurrent use.
type Provider struct {
	settings Settings
	clock    ports.Clock
	client   *http.Client
	keys     *keys

	discovering chan struct{} // full while a call fetches the discovery document
	mu          sync.Mutex
	known       *discovered
	failed      time.Time
}

// discovered is the provider's discovery document.
type discovered struct {
	*oidc.Provider

	endSession  string
	inParams    bool // the client secret goes into the form, not a header
	sendsIssuer bool // responses always name the issuer (RFC 9207)
	at          time.Time
}

var _ signon.Provider = (*Provider)(nil)

// New returns a provider.
func New(s Settings, clock ports.Clock) *Provider {
	client := newClient()
	return &Provider{settings: s, clock: clock, client: client, keys: newKeys(client, clock), discovering: make(chan struct{}, 1)}
}

// flowState is stored until the browser returns.
type flowState struct {
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// Begin returns the URL to send a browser to.
func (p *Provider) Begin(ctx context.Context, w signon.AuthRequest) (address string, kept []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return "", nil, err
	}
	h := flowState{Nonce: operators.NewToken(), Verifier: oauth2.GenerateVerifier()}
	if kept, err = json.Marshal(h); err != nil {
		return "", nil, err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(h.Nonce), oauth2.S256ChallengeOption(h.Verifier)}
	if w.Reauthenticate {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return p.config(d, w.RedirectURI).AuthCodeURL(w.State, options...), kept, nil
}

// config returns the client's OAuth 2.0 configuration.
func (p *Provider) config(d *discovered, back string) *oauth2.Config {
	endpoint := d.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if d.inParams || p.settings.ClientSecret == "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: p.settings.ClientID, ClientSecret: p.settings.ClientSecret, Endpoint: endpoint, RedirectURL: back, Scopes: p.settings.Scopes}
}

// Finish exchanges the code for the ID token and checks it.
func (p *Provider) Finish(ctx context.Context, w signon.AuthRequest, kept []byte, code, from string) (signon.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var h flowState
	if err := json.Unmarshal(kept, &h); err != nil {
		return signon.Identity{}, err
	}
	d, err := p.discover(ctx)
	if err != nil {
		return signon.Identity{}, err
	}
	if from != p.settings.Issuer && (from != "" || d.sendsIssuer) {
		return signon.Identity{}, rejected("the answer does not come from this provider")
	}
	ctx = oidc.ClientContext(ctx, p.client)
	config := p.config(d, w.RedirectURI)
	tokens, err := config.Exchange(ctx, code, oauth2.VerifierOption(h.Verifier))
	if err != nil {
		return signon.Identity{}, exchangeError(err)
	}
	raw, is := tokens.Extra("id_token").(string)
	if !is {
		return signon.Identity{}, rejected("there is no ID token")
	}
	if _, err := p.keys.VerifySignature(ctx, raw); err != nil { // The library hides why the keys could not be fetched.
		return signon.Identity{}, tokenError(err)
	}
	token, err := p.verifier().Verify(ctx, raw)
	if err != nil {
		return signon.Identity{}, tokenError(err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(h.Nonce)) != 1 {
		return signon.Identity{}, rejected("the nonce is another one")
	}
	if token.AccessTokenHash != "" {
		if err := token.VerifyAccessToken(tokens.AccessToken); err != nil {
			return signon.Identity{}, rejected("the access token is another one")
		}
	}
	all := claims{}
	if err := token.Claims(&all); err != nil {
		return signon.Identity{}, rejected("the claims cannot be read")
	}
	if err := p.checkToken(token, all); err != nil {
		return signon.Identity{}, err
	}
	if !all.has(p.settings.UsernameClaim) || (p.settings.GroupsClaim != "" && !all.has(p.settings.GroupsClaim)) {
		if err := p.userInfo(ctx, d, config.TokenSource(ctx, tokens), token.Subject, all); err != nil {
			return signon.Identity{}, err
		}
	}
	return p.identity(token.Subject, all)
}

// checkToken checks what the library does not check.
func (p *Provider) checkToken(t *oidc.IDToken, all claims) error {
	party, named := all["azp"]
	switch {
	case named && party != p.settings.ClientID, !named && len(t.Audience) > 1:
		return rejected("the token was made for another client")
	case t.Subject == "" || len(t.Subject) > signon.MaxSubject:
		return rejected("the subject is missing or too long")
	case t.IssuedAt.After(p.clock.Now().Add(signon.Skew)):
		return rejected("the token comes from the future")
	}
	return nil
}

// userInfo adds the claims of the userinfo endpoint that the ID token lacks.
func (p *Provider) userInfo(ctx context.Context, d *discovered, tokens oauth2.TokenSource, subject string, all claims) error {
	if d.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := d.UserInfo(ctx, tokens)
	if err != nil {
		return unavailable(err)
	}
	more := claims{}
	if err := info.Claims(&more); err != nil || info.Subject != subject {
		return rejected("what the provider tells besides is about somebody else")
	}
	for name, value := range more {
		if !all.has(name) {
			all[name] = value
		}
	}
	return nil
}

// Logout checks a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6).
func (p *Provider) Logout(ctx context.Context, raw string) (signon.Logout, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := p.discover(ctx); err != nil {
		return signon.Logout{}, err
	}
	if _, err := p.keys.VerifySignature(ctx, raw); err != nil {
		return signon.Logout{}, tokenError(err)
	}
	t, err := p.verifier().VerifyLogout(ctx, raw)
	if err != nil {
		return signon.Logout{}, tokenError(err)
	}
	now := p.clock.Now()
	switch {
	case t.IssuedAt.IsZero() || t.IssuedAt.After(now.Add(signon.Skew)):
		return signon.Logout{}, rejected("the token comes from the future, or does not say when it was made")
	case len(t.Subject) > signon.MaxSubject:
		return signon.Logout{}, rejected("the subject is too long")
	}
	return signon.Logout{Issuer: p.settings.Issuer, Subject: t.Subject, Session: t.SessionID, Token: t.TokenID, Expires: t.Expiry.Add(signon.Skew).UTC()}, nil
}

// EndSessionURL returns the provider's URL for ending its session (OpenID Connect RP-Initiated
// Logout 1.0).
func (p *Provider) EndSessionURL(ctx context.Context, back string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil || d.endSession == "" {
		return "", err
	}
	u, err := url.Parse(d.endSession)
	if err != nil {
		return "", unavailable(err)
	}
	query := u.Query()
	query.Set("client_id", p.settings.ClientID)
	query.Set("post_logout_redirect_uri", back)
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// verifier returns the verifier of the provider's tokens. Tokens that expired within the skew are
// still valid.
func (p *Provider) verifier() *oidc.IDTokenVerifier {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = string(a)
	}
	return oidc.NewVerifier(p.settings.Issuer, p.keys, &oidc.Config{ClientID: p.settings.ClientID, SupportedSigningAlgs: names,
		Now: func() time.Time { return p.clock.Now().Add(-signon.Skew) }})
}

// discover returns the discovery document. Only one call at a time fetches it. While the provider
// is unavailable, it returns the old one.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	if d, err := p.cached(); d != nil || err != nil {
		return d, err
	}
	select {
	case p.discovering <- struct{}{}:
		defer func() { <-p.discovering }()
	case <-ctx.Done():
		return nil, unavailable(ctx.Err())
	}
	if d, err := p.cached(); d != nil || err != nil { // Another call has fetched it meanwhile.
		return d, err
	}
	d, err := p.fetch(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = p.clock.Now()
		if p.known != nil {
			return p.known, nil
		}
		return nil, unavailable(err)
	}
	p.known, p.failed = d, time.Time{}
	return d, nil
}

// cached returns the cached discovery document, or the error of a recent failure; neither if it
// must be fetched.
func (p *Provider) cached() (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	switch {
	case p.known != nil && now.Before(p.known.at.Add(discoveryAge)):
		return p.known, nil
	case !p.failed.IsZero() && now.Before(p.failed.Add(retryPause)):
		if p.known != nil {
			return p.known, nil
		}
		return nil, unavailable(errors.New("it was away a moment ago"))
	}
	return nil, nil //nolint:nilnil // An empty cache is not an error.
}

// fetch fetches the discovery document.
func (p *Provider) fetch(ctx context.Context) (*discovered, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.settings.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Keys       string   `json:"jwks_uri"`
		EndSession string   `json:"end_session_endpoint"`
		Methods    []string `json:"token_endpoint_auth_methods_supported"`
		NamesSelf  bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := found.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, more.Keys} {
		if err := p.checkURL(address); err != nil {
			return nil, err
		}
	}
	if more.EndSession != "" {
		if err := p.checkURL(more.EndSession); err != nil {
			return nil, err
		}
	}
	p.keys.setURL(more.Keys)
	return &discovered{Provider: found, endSession: more.EndSession, sendsIssuer: more.NamesSelf, at: p.clock.Now(),
		inParams: len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic")}, nil
}

// checkURL returns an error if a URL of the provider is less protected than the issuer.
func (p *Provider) checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	issuer, err := url.Parse(p.settings.Issuer)
	if err != nil {
		return err
	}
	if u.Host == "" || (u.Scheme != "https" && u.Scheme != issuer.Scheme) {
		return fmt.Errorf("oidc: the provider names an address that is not https: %q", address)
	}
	return nil
}
