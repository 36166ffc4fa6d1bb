package oidc_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/oidc"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/signon"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/idp"
)

var noon = time.Date(2026, time.March, 4, 12, 0, 0, 0, time.UTC)

const back = "https://tocsin.example/console/sign-in/sso/callback/"

// pair is a client and its provider.
type pair struct {
	*testing.T
	clock    *clocks.Moving
	provider *idp.Provider
	client   *oidc.Provider
}

func newPair(t *testing.T, adjust ...func(*oidc.Settings)) *pair {
	t.Helper()
	p := &pair{T: t, clock: clocks.At(noon)}
	p.provider = idp.New(t, p.clock.Now)
	s := oidc.Settings{Issuer: p.provider.URL, ClientID: idp.ClientID, ClientSecret: idp.ClientSecret, Scopes: []string{"openid", "profile"},
		UsernameClaim: "preferred_username", GroupsClaim: "groups"}
	for _, a := range adjust {
		a(&s)
	}
	p.client = oidc.New(s, p.clock)
	return p
}

// signIn goes to the provider and back.
func (p *pair) signIn() (signon.Identity, error) {
	p.Helper()
	w := signon.AuthRequest{RedirectURI: back, State: "the state"}
	address, held, err := p.client.Begin(p.Context(), w)
	require.NoError(p, err)
	q := p.provider.Visit(address).Query()
	assert.Equal(p, "the state", q.Get("state"))
	return p.client.Finish(p.Context(), w, held, q.Get("code"), q.Get("iss"))
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	t.Run("NamesTheUser", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		maps.Copy(p.provider.Person, idp.Claims{"email": "ada@example.org", "email_verified": true, "given_name": "Ada", "family_name": "Lovelace",
			"groups": []string{"staff", "/tocsin/admins"}, "sid": "s1"})
		p.provider.LastSignIn = noon.Add(-time.Hour)
		i, err := p.signIn()
		require.NoError(t, err)
		assert.Equal(t, signon.Identity{Subject: signon.Subject{Issuer: p.provider.URL, ID: "248289761001"}, Username: "ada",
			Details: users.Details{Email: "ada@example.org", FirstName: "Ada", LastName: "Lovelace"}, Groups: []string{"staff", "/tocsin/admins"},
			Session: "s1", Authenticated: noon.Add(-time.Hour)}, i)
	})
	t.Run("ReadsConstantsOnce", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		assert.Zero(t, p.provider.Calls("/.well-known/openid-configuration"), "nothing is asked before somebody signs in")
		for range 3 {
			_, err := p.signIn()
			require.NoError(t, err)
		}
		assert.Equal(t, 1, p.provider.Calls("/.well-known/openid-configuration"))
		assert.Equal(t, 1, p.provider.Calls("/keys"))
	})
	t.Run("AgainAsksThePerson", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		p.provider.LastSignIn = noon.Add(-time.Hour)
		w := signon.AuthRequest{RedirectURI: back, State: "s", Reauthenticate: true}
		address, held, err := p.client.Begin(t.Context(), w)
		require.NoError(t, err)
		q := p.provider.Visit(address).Query()
		i, err := p.client.Finish(t.Context(), w, held, q.Get("code"), q.Get("iss"))
		require.NoError(t, err)
		assert.Equal(t, noon, i.Authenticated)
	})
	t.Run("AsAPublicClient", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, func(s *oidc.Settings) { s.ClientSecret = "" })
		p.provider.PublicClient = true
		_, err := p.signIn()
		require.NoError(t, err)
	})
	t.Run("WithTheSecretInTheForm", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		p.provider.Metadata = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}
		_, err := p.signIn()
		require.NoError(t, err)
	})
	t.Run("WithKeysOfEitherKind", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		for range 3 {
			_, err := p.signIn()
			require.NoError(t, err)
			p.provider.Rotate()
			p.clock.Advance(time.Minute)
		}
	})
	t.Run("WithClocksThatDiffer", func(t *testing.T) {
		t.Parallel()
		for _, by := range []time.Duration{-signon.Skew, signon.Skew} {
			p := newPair(t)
			p.provider.Alter = func(c idp.Claims) {
				c["iat"], c["exp"] = noon.Add(by).Unix(), noon.Add(by).Add(30*time.Second).Unix()
				c["nbf"] = c["iat"]
			}
			_, err := p.signIn()
			require.NoError(t, err, by)
		}
	})
	t.Run("ReadsClaimsMissingFromTheToken", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		p.provider.Person = idp.Claims{"sub": "1"}
		p.provider.Info = idp.Claims{"sub": "1", "preferred_username": "grace", "groups": "staff"}
		i, err := p.signIn()
		require.NoError(t, err)
		assert.Equal(t, "grace", i.Username)
		assert.Equal(t, []string{"staff"}, i.Groups)
		p.provider.Info = idp.Claims{"sub": "2", "preferred_username": "grace", "groups": "staff"}
		_, err = p.signIn()
		require.ErrorIs(t, err, signon.ErrAnswer)
	})
	t.Run("TakesAnEMailOnlyWhereItIsVerified", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, func(s *oidc.Settings) { s.UsernameClaim = "email" })
		for value, want := range map[any]string{true: "ada@example.org", "true": "ada@example.org", false: "", "false": "", 1: ""} {
			p.provider.Person = idp.Claims{"sub": "1", "email": "ada@example.org", "email_verified": value}
			i, err := p.signIn()
			require.NoError(t, err)
			assert.Equal(t, want, i.Username, value)
			assert.Equal(t, want, i.Details.Email, value)
		}
	})
	t.Run("DoesNotTakeLeftOutGroupsForNone", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		_, err := p.signIn()
		require.NoError(t, err)
		p.provider.Alter = func(c idp.Claims) {
			c["_claim_names"] = map[string]any{"groups": "src1"}
			c["_claim_sources"] = map[string]any{"src1": map[string]any{"endpoint": "https://graph.example/groups"}}
		}
		_, err = p.signIn()
		require.ErrorIs(t, err, signon.ErrAnswer)
		assert.ErrorContains(t, err, "too many")
	})
}

func TestRejectedAnswers(t *testing.T) {
	t.Parallel()
	claim := func(name string, value any) func(*pair) {
		return func(p *pair) { p.provider.Alter = func(c idp.Claims) { c[name] = value } }
	}
	sign := func(by func(p *pair, c idp.Claims) string) func(*pair) {
		return func(p *pair) { p.provider.Sign = func(c idp.Claims) string { return by(p, c) } }
	}
	for name, misbehave := range map[string]func(p *pair){
		"WrongNonce":      claim("nonce", "another"),
		"NoNonce":         func(p *pair) { p.provider.Alter = func(c idp.Claims) { delete(c, "nonce") } },
		"WrongAudience":   claim("aud", "another client"),
		"SeveralClients":  claim("aud", []string{idp.ClientID, "another client"}),
		"AnotherParty":    claim("azp", "another client"),
		"AnotherIssuer":   claim("iss", "https://evil.example"),
		"NoSubject":       claim("sub", ""),
		"LongSubject":     claim("sub", strings.Repeat("x", signon.MaxSubject+1)),
		"Expired":         claim("exp", noon.Add(-2*signon.Skew).Unix()),
		"FromTheFuture":   claim("iat", noon.Add(2*signon.Skew).Unix()),
		"NotYet":          claim("nbf", noon.Add(time.Hour).Unix()),
		"GroupsAreNoList": claim("groups", map[string]any{"a": 1}),
		"TooManyGroups":   claim("groups", make([]string, 1001)),
		"LongSession":     claim("sid", strings.Repeat("x", 300)),
		"OtherAccess":     claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
		"AlgorithmNone":   sign(func(p *pair, c idp.Claims) string { return p.provider.Unsigned(c) }),
		"NoToken":         sign(func(*pair, idp.Claims) string { return "not a token" }),
		"PublicKeyAsSecret": sign(func(p *pair, c idp.Claims) string {
			id, secret := p.provider.PublicKey()
			return p.provider.SignedBy(jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: secret, KeyID: id}}, c)
		}),
		"ForeignKey": sign(func(p *pair, c idp.Claims) string { return idp.New(p.T, p.clock.Now).Signed(c) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			misbehave(p)
			_, err := p.signIn()
			require.ErrorIs(t, err, signon.ErrAnswer)
			assert.Equal(t, fault.Forbidden, fault.KindOf(err))
		})
	}
	t.Run("ReplayedCode", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		w := signon.AuthRequest{RedirectURI: back, State: "s"}
		address, held, err := p.client.Begin(t.Context(), w)
		require.NoError(t, err)
		q := p.provider.Visit(address).Query()
		_, err = p.client.Finish(t.Context(), w, held, q.Get("code"), q.Get("iss"))
		require.NoError(t, err)
		_, err = p.client.Finish(t.Context(), w, held, q.Get("code"), q.Get("iss"))
		require.ErrorIs(t, err, signon.ErrAnswer)
		assert.ErrorContains(t, err, "invalid_grant")
		assert.NotContains(t, err.Error(), "attacker")
	})
	t.Run("CodeOfAnotherBrowser", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		w := signon.AuthRequest{RedirectURI: back, State: "s"}
		_, mine, err := p.client.Begin(t.Context(), w)
		require.NoError(t, err)
		address, _, err := p.client.Begin(t.Context(), w)
		require.NoError(t, err)
		_, err = p.client.Finish(t.Context(), w, mine, p.provider.Visit(address).Query().Get("code"), p.provider.URL)
		require.ErrorIs(t, err, signon.ErrAnswer, "the verifier is another one")
	})
	t.Run("FromAnotherProvider", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		w := signon.AuthRequest{RedirectURI: back, State: "s"}
		address, held, err := p.client.Begin(t.Context(), w)
		require.NoError(t, err)
		code := p.provider.Visit(address).Query().Get("code")
		for _, from := range []string{"", "https://evil.example"} {
			_, err = p.client.Finish(t.Context(), w, held, code, from)
			require.ErrorIs(t, err, signon.ErrAnswer, from)
		}
	})
}

func TestUnavailableProvider(t *testing.T) {
	t.Parallel()
	failing := func(path string, by http.HandlerFunc) func(p *pair) {
		return func(p *pair) {
			p.provider.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == path {
					by(w, r)
				}
				return r.URL.Path == path
			}
		}
	}
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	const discovery = "/.well-known/openid-configuration"
	for name, fail := range map[string]func(p *pair){
		"Gone":              func(p *pair) { p.provider.Close() },
		"BrokenDiscovery":   failing(discovery, broken),
		"BrokenKeys":        failing("/keys", broken),
		"BrokenToken":       failing("/token", broken),
		"AnotherIssuer":     func(p *pair) { p.provider.Metadata = map[string]any{"issuer": "https://evil.example"} },
		"KeysWithoutHTTPS":  func(p *pair) { p.provider.Metadata = map[string]any{"jwks_uri": "ftp://keys.example/"} },
		"EndWithoutAddress": func(p *pair) { p.provider.Metadata = map[string]any{"end_session_endpoint": "javascript:alert(1)"} },
		"KeysAreNoKeys":     failing("/keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("[")) }),
		"WithoutEnd": failing(discovery, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("x", 2<<20) + `"}`))
		}),
		"Redirects": failing(discovery, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			fail(p)
			w := signon.AuthRequest{RedirectURI: back, State: "s"}
			address, held, err := p.client.Begin(t.Context(), w)
			if err == nil {
				q := p.provider.Visit(address).Query()
				_, err = p.client.Finish(t.Context(), w, held, q.Get("code"), q.Get("iss"))
			}
			require.ErrorIs(t, err, signon.ErrUnavailable)
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		})
	}
	t.Run("IsNotAskedAgainAtOnce", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		failing(discovery, broken)(p)
		begin := func() error {
			_, _, err := p.client.Begin(t.Context(), signon.AuthRequest{RedirectURI: back})
			return err
		}
		for range 3 {
			require.ErrorIs(t, begin(), signon.ErrUnavailable)
		}
		assert.Equal(t, 1, p.provider.Calls(discovery))
		p.provider.Before = nil
		p.clock.Advance(5 * time.Second)
		require.NoError(t, begin())
	})
	t.Run("CachedKeysAreUsed", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		_, err := p.signIn()
		require.NoError(t, err)
		p.provider.Before = func(w http.ResponseWriter, r *http.Request) bool {
			away := r.URL.Path == discovery || r.URL.Path == "/keys"
			if away {
				broken(w, r)
			}
			return away
		}
		p.clock.Advance(2 * time.Hour)
		_, err = p.signIn()
		require.NoError(t, err)
		p.clock.Advance(22 * time.Hour)
		_, err = p.signIn()
		require.ErrorIs(t, err, signon.ErrUnavailable, "a key may have been withdrawn")
	})
	t.Run("BlocksNobody", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			client := oidc.New(oidc.Settings{Issuer: "http://192.0.2.1", ClientID: "c"}, clocks.At(noon))
			client.Through(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			began := time.Now()
			_, _, err := client.Begin(t.Context(), signon.AuthRequest{})
			require.ErrorIs(t, err, signon.ErrUnavailable)
			assert.Equal(t, 10*time.Second, time.Since(began))
		})
	})
	t.Run("DelaysNoDisconnectedClient", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		came, leave := make(chan struct{}), make(chan struct{})
		p.provider.Before = func(http.ResponseWriter, *http.Request) bool { close(came); <-leave; return true }
		var group sync.WaitGroup
		group.Go(func() { _, _, _ = p.client.Begin(t.Context(), signon.AuthRequest{}) })
		<-came
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := p.client.Begin(gone, signon.AuthRequest{})
		require.ErrorIs(t, err, signon.ErrUnavailable)
		close(leave)
		group.Wait()
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	t.Run("AWithdrawnOneCountsNoLonger", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		before := p.provider.LogoutToken(idp.Claims{"sub": "1", "exp": noon.Add(10 * time.Hour).Unix()})
		_, err := p.client.Logout(t.Context(), before)
		require.NoError(t, err)
		p.provider.Rotate()
		p.provider.Withdraw()
		_, err = p.client.Logout(t.Context(), before)
		require.NoError(t, err, "nobody has told us yet")
		p.clock.Advance(time.Hour)
		_, err = p.client.Logout(t.Context(), before)
		require.ErrorIs(t, err, signon.ErrAnswer)
	})
	t.Run("UnknownKeysAreNotLookedUpAllTheTime", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		stranger := idp.New(t, p.clock.Now)
		for range 20 {
			_, err := p.client.Logout(t.Context(), stranger.LogoutToken(idp.Claims{"iss": p.provider.URL, "sub": "1"}))
			require.ErrorIs(t, err, signon.ErrAnswer)
		}
		assert.Equal(t, 1, p.provider.Calls("/keys"))
		p.clock.Advance(10 * time.Second)
		_, err := p.client.Logout(t.Context(), p.provider.LogoutToken(idp.Claims{"sub": "1"}))
		require.NoError(t, err)
	})
}

func TestLogout(t *testing.T) {
	t.Parallel()
	t.Run("NamesWhoseSessionEnds", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		got, err := p.client.Logout(t.Context(), p.provider.LogoutToken(idp.Claims{"sub": "1", "sid": "s", "jti": "j"}))
		require.NoError(t, err)
		assert.Equal(t, signon.Logout{Issuer: p.provider.URL, Subject: "1", Session: "s", Token: "j", Expires: noon.Add(3 * time.Minute)}, got)
	})
	for name, about := range map[string]idp.Claims{
		"Nobody":        {},
		"AnotherIssuer": {"sub": "1", "iss": "https://evil.example"},
		"AnotherClient": {"sub": "1", "aud": "another client"},
		"NoEvent":       {"sub": "1", "events": map[string]any{}},
		"WithANonce":    {"sub": "1", "nonce": "n"},
		"WithoutAName":  {"sub": "1", "jti": nil},
		"Expired":       {"sub": "1", "exp": noon.Add(-2 * signon.Skew).Unix()},
		"WithoutAnEnd":  {"sub": "1", "exp": nil},
		"FromTheFuture": {"sub": "1", "iat": noon.Add(2 * signon.Skew).Unix()},
		"WithoutATime":  {"sub": "1", "iat": nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			_, err := p.client.Logout(t.Context(), p.provider.LogoutToken(about))
			require.ErrorIs(t, err, signon.ErrAnswer)
		})
	}
	t.Run("Unsigned", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		p.provider.Sign = p.provider.Unsigned
		_, err := p.client.Logout(t.Context(), p.provider.LogoutToken(idp.Claims{"sub": "1"}))
		require.ErrorIs(t, err, signon.ErrAnswer)
	})
	t.Run("AnIDTokenIsNone", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		var id string
		p.provider.Sign = func(c idp.Claims) string {
			p.provider.Sign = nil
			id = p.provider.Signed(c)
			return id
		}
		_, err := p.signIn()
		require.NoError(t, err)
		_, err = p.client.Logout(t.Context(), id)
		require.ErrorIs(t, err, signon.ErrAnswer)
	})
}

func TestLeaving(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	address, err := p.client.EndSessionURL(t.Context(), "https://tocsin.example/console/sign-in/")
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	assert.Equal(t, "/end", u.Path)
	assert.Equal(t, url.Values{"x": {"1"}, "client_id": {idp.ClientID}, "post_logout_redirect_uri": {"https://tocsin.example/console/sign-in/"}}, u.Query())

	p = newPair(t)
	p.provider.Metadata = map[string]any{"end_session_endpoint": nil}
	address, err = p.client.EndSessionURL(t.Context(), "x")
	require.NoError(t, err)
	assert.Empty(t, address)
	p = newPair(t)
	p.provider.Close()
	_, err = p.client.EndSessionURL(t.Context(), "x")
	require.ErrorIs(t, err, signon.ErrUnavailable)
	require.NotErrorIs(t, err, signon.ErrAnswer)
}
