// Package idp is an OpenID Connect provider for tests, on loopback: discovery, keys of two kinds,
// the authorization code flow with PKCE, and logout tokens. A test can make it misbehave.
package idp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The registered client.
const (
	ClientID     = "tocsin"
	ClientSecret = "the secret of the client"
)

// Claims are the claims of a token.
type Claims map[string]any

// Provider is an identity provider. Its fields may be changed between requests.
type Provider struct {
	*httptest.Server

	t   testing.TB
	now func() time.Time

	mu    sync.Mutex
	keys  []jose.SigningKey // the last signs
	codes map[string]grant
	calls map[string]int

	// Person has the claims about the user who signs in; `sub` is their id.
	Person Claims
	// Info has the further claims of the userinfo endpoint. Nil: there is no such endpoint.
	Info Claims
	// LastSignIn is auth_time, when the user last signed in to the provider; with prompt=login it
	// is now. Zero: the claim is missing.
	LastSignIn time.Time
	// IgnoresPrompt makes the provider ignore prompt.
	IgnoresPrompt bool
	// Alter changes the claims of a token before it is signed.
	Alter func(Claims)
	// Sign replaces the way of signing.
	Sign func(Claims) string
	// Before is called before each response, so that a test can delay it or fail. It returns true
	// if it has responded.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// Metadata has members that are added to the discovery document, or replace others.
	Metadata map[string]any
	// PublicClient makes the client one without a secret.
	PublicClient bool
}

// grant is the authorization request of a code.
type grant struct {
	claims              Claims
	challenge, redirect string
}

// New returns a provider that ends with the test.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{t: t, now: now, codes: map[string]grant{}, calls: map[string]int{}, Person: Claims{"sub": "248289761001", "preferred_username": "ada"}}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keySet)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.calls[r.URL.Path]++
		p.mu.Unlock()
		if p.Before == nil || !p.Before(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// Calls returns how often a path was requested.
func (p *Provider) Calls(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[path]
}

// Rotate adds a key of the other type, and removes all but the last two.
func (p *Provider) Rotate() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	id := rand.Text()
	var key jose.SigningKey
	if len(p.keys)%2 == 0 {
		made, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // It is fast, and enough for a test.
		p.badRequest(err)
		key = jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: made, KeyID: id}}
	} else {
		made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		p.badRequest(err)
		key = jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: made, KeyID: id}}
	}
	p.keys = append(p.keys, key)
}

// Withdraw removes all keys but the last.
func (p *Provider) Withdraw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = p.keys[len(p.keys)-1:]
}

// Visit acts as a browser at the authorization URL: the user signs in. It returns the URL of the
// redirect.
func (p *Provider) Visit(address string) *url.URL {
	p.t.Helper()
	u, err := url.Parse(address)
	p.badRequest(err)
	q := u.Query()
	for name, want := range map[string]string{"client_id": ClientID, "response_type": "code", "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			p.t.Fatalf("the browser came with %s=%q, not %q", name, q.Get(name), want)
		}
	}
	if u.Host != strings.TrimPrefix(p.URL, "http://") || u.Path != "/authorize" || q.Get("nonce") == "" || q.Get("state") == "" || !strings.Contains(q.Get("scope"), "openid") {
		p.t.Fatalf("the browser came to %s", address)
	}
	claims := Claims{"nonce": q.Get("nonce")}
	if q.Get("prompt") == "login" && q.Get("max_age") == "0" && !p.IgnoresPrompt {
		p.LastSignIn = p.now()
	}
	if !p.LastSignIn.IsZero() {
		claims["auth_time"] = p.LastSignIn.Unix()
	}
	maps.Copy(claims, p.Person)
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = grant{claims: claims, challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri")}
	p.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	p.badRequest(err)
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}.Encode()
	return back
}

// LogoutToken returns a logout token for one session or all sessions of a user.
func (p *Provider) LogoutToken(about Claims) string {
	p.t.Helper()
	claims := Claims{"iss": p.URL, "aud": ClientID, "iat": p.now().Unix(), "exp": p.now().Add(2 * time.Minute).Unix(), "jti": rand.Text(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}
	for name, value := range about {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	return p.Signed(claims)
}

// Signed returns a signed token with these claims.
func (p *Provider) Signed(c Claims) string {
	p.t.Helper()
	if p.Sign != nil {
		return p.Sign(c)
	}
	p.mu.Lock()
	key := p.keys[len(p.keys)-1]
	p.mu.Unlock()
	return p.SignedBy(key, c)
}

// SignedBy returns a token signed with a key.
func (p *Provider) SignedBy(key jose.SigningKey, c Claims) string {
	p.t.Helper()
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	p.badRequest(err)
	text, err := json.Marshal(c)
	p.badRequest(err)
	signed, err := signer.Sign(text)
	p.badRequest(err)
	token, err := signed.CompactSerialize()
	p.badRequest(err)
	return token
}

// Unsigned returns a token with the algorithm `none`.
func (p *Provider) Unsigned(c Claims) string {
	p.t.Helper()
	text, err := json.Marshal(c)
	p.badRequest(err)
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(text) + "."
}

// PublicKey returns the current public key, as the bytes that an attacker would use as a shared
// secret.
func (p *Provider) PublicKey() (id string, secret []byte) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	key := public(p.keys[len(p.keys)-1])
	text, err := x509.MarshalPKIXPublicKey(key.Key)
	p.badRequest(err)
	return key.KeyID, text
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	about := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"end_session_endpoint": p.URL + "/end?x=1", "authorization_response_iss_parameter_supported": true, "backchannel_logout_supported": true,
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"}, "token_endpoint_auth_methods_supported": []string{"client_secret_basic"}}
	if p.Info != nil {
		about["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	maps.Copy(about, p.Metadata)
	p.answer(w, http.StatusOK, about)
}

func (p *Provider) keySet(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []any{map[string]any{"kty": "LATER", "kid": "of a kind that nobody knows yet"}}
	for _, key := range p.keys[max(0, len(p.keys)-2):] {
		all = append(all, public(key))
	}
	p.answer(w, http.StatusOK, map[string]any{"keys": all})
}

// token exchanges a code for tokens, once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, inHeader := r.BasicAuth()
	if decoded, err := url.QueryUnescape(secret); err == nil {
		secret = decoded
	}
	if !inHeader {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || (secret != ClientSecret && !p.PublicClient) {
		p.answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	g, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("redirect_uri") != g.redirect || base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge {
		p.answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "what an attacker would like to show"})
		return
	}
	claims := Claims{"iss": p.URL, "aud": ClientID, "iat": p.now().Unix(), "exp": p.now().Add(5 * time.Minute).Unix()}
	maps.Copy(claims, g.claims)
	if p.Alter != nil {
		p.Alter(claims)
	}
	p.answer(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": p.Signed(claims), "expires_in": 300})
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer access" {
		p.answer(w, http.StatusUnauthorized, map[string]any{})
		return
	}
	p.answer(w, http.StatusOK, p.Info)
}

// public returns the public part of a key.
func public(k jose.SigningKey) jose.JSONWebKey {
	key := k.Key.(jose.JSONWebKey)
	return key.Public()
}

func (p *Provider) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		p.t.Errorf("the answer was not written: %v", err)
	}
}

func (p *Provider) badRequest(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}
