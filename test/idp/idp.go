// Package idp is an OpenID Connect provider for tests, on loopback: discovery, keys of two kinds,
// the authorization code flow with PKCE, and logout tokens. It behaves, unless a test has it
// misbehave. It knows nothing of who asks.
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

// The client that the provider knows.
const (
	ClientID     = "tocsin"
	ClientSecret = "the secret of the client"
)

// Claims are what a token says.
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

	// Person has the provider's claims about the user who signs in; `sub` names them.
	Person Claims
	// Info is what the userinfo endpoint says besides. Nil: there is no such endpoint.
	Info Claims
	// LastSignIn is when they last signed in to the provider; with prompt=login it is now. Zero: it
	// does not say.
	LastSignIn time.Time
	// IgnoresPrompt makes it skip authentication, whatever prompt says.
	IgnoresPrompt bool
	// Alter changes the claims of a token before it is signed.
	Alter func(Claims)
	// Sign signs in another way.
	Sign func(Claims) string
	// Before is called before any answer, to have it be slow or fail; it answers itself when it
	// returns true.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// Metadata is what discovery says besides, or in the place of what it would say.
	Metadata map[string]any
	// PublicClient has the client come without its secret.
	PublicClient bool
}

// grant is what a code was given out for.
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

// Calls is how often a path was asked for.
func (p *Provider) Calls(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[path]
}

// Rotate gives the provider another key, of the other kind, and takes away all keys but the last
// two.
func (p *Provider) Rotate() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	id := rand.Text()
	var key jose.SigningKey
	if len(p.keys)%2 == 0 {
		made, err := rsa.GenerateKey(rand.Reader, 2048)
		p.no(err)
		key = jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: made, KeyID: id}}
	} else {
		made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		p.no(err)
		key = jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: made, KeyID: id}}
	}
	p.keys = append(p.keys, key)
}

// Withdraw takes away all keys but the last.
func (p *Provider) Withdraw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = p.keys[len(p.keys)-1:]
}

// Visit plays a browser at the address that it was sent to: the user signs in, and is sent back to
// the address that it returns.
func (p *Provider) Visit(address string) *url.URL {
	p.t.Helper()
	u, err := url.Parse(address)
	p.no(err)
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
	p.no(err)
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}.Encode()
	return back
}

// LogoutToken returns a token that says that a user's session, or all of them, ended.
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

// Signed is a token with these claims.
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

// SignedBy is a token that a key has signed.
func (p *Provider) SignedBy(key jose.SigningKey, c Claims) string {
	p.t.Helper()
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	p.no(err)
	text, err := json.Marshal(c)
	p.no(err)
	signed, err := signer.Sign(text)
	p.no(err)
	token, err := signed.CompactSerialize()
	p.no(err)
	return token
}

// Unsigned is a token with the algorithm `none`.
func (p *Provider) Unsigned(c Claims) string {
	p.t.Helper()
	text, err := json.Marshal(c)
	p.no(err)
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(text) + "."
}

// PublicKey is the public key that is in use, as the bytes that an attacker would take for a shared
// secret.
func (p *Provider) PublicKey() (id string, secret []byte) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	key := public(p.keys[len(p.keys)-1])
	text, err := x509.MarshalPKIXPublicKey(key.Key)
	p.no(err)
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

// token exchanges a code, once.
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

// public is the public part of a key.
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

func (p *Provider) no(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}
