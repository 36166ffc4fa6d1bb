package httpapi_test

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	accepted := map[string]string{
		"Key full": "full", "key full": "full", "KEY full": "full", "kEy  full": "full", "\tKey full ": "full", "Key \tfull": "full",
	}
	for value, token := range accepted {
		got, ok := httpapi.ParseAuthorization([]string{value})
		assert.True(t, ok, value)
		assert.Equal(t, token, got, value)
	}
	for _, values := range [][]string{
		nil, {""}, {"Key"}, {"Key "}, {"full"}, {"Bearer full"}, {"Keyfull"}, {"Key full more"}, {"Key\tfull"}, {"Key full", "Key full"}, {"Kéy full"},
	} {
		_, ok := httpapi.ParseAuthorization(values)
		assert.False(t, ok, values)
	}
}

func FuzzParseAuthorization(f *testing.F) {
	for _, seed := range []string{"Key tcs_0123", "key  x", "Basic eDp5", "Key", "Key \x00", "KEY\ttcs_", "\u212Aey x", " Key a b "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		token, ok := httpapi.ParseAuthorization([]string{value})
		if !ok {
			assert.Empty(t, token)
			return
		}
		assert.NotEmpty(t, token)
		assert.Equal(t, strings.Trim(token, " \t"), token)
		assert.Contains(t, value, token)
		again, ok := httpapi.ParseAuthorization([]string{"Key " + token})
		assert.True(t, ok)
		assert.Equal(t, token, again)
	})
}

func TestRoutesRequireAKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, r := range httpapi.Routes() {
		if r.Grant == "" {
			continue
		}
		path := fill(r.Path)
		for name, header := range map[string]string{"Missing": "", "Unknown": "Key nobody", "Malformed": "Bearer full"} {
			built := request{method: r.Method, path: path, key: "-"}
			if header != "" {
				built.header = map[string]string{"Authorization": header}
			}
			w := f.do(built)
			require.Equal(t, http.StatusUnauthorized, w.Code, "%s %s %s", name, r.Method, r.Path)
			assert.Equal(t, "Key", w.Header().Get("WWW-Authenticate"))
			assert.Equal(t, `a valid API key is required, sent as the header "Authorization: Key <API_KEY>"`, problemOf(t, w).Detail, "all get the same answer")
		}
	}
	assert.Zero(t, f.store.used())
}

func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	const bad = "{ this is no JSON"
	for name, c := range map[string]struct {
		key, method, path, body string
		status                  int
		detail                  string
	}{
		"ScopeBeforeEverything":        {acmeKey, http.MethodPost, "/api/o/other/u/", bad, 403, access.ErrOutOfScope.Error()},
		"ScopeBeforeTheOtherPath":      {acmeKey, http.MethodPost, "/api/v1/user/other/", bad, 403, access.ErrOutOfScope.Error()},
		"ApplicationKeyAndOrg":         {shopKey, http.MethodGet, "/api/o/acme/u/", "", 403, access.ErrOutOfScope.Error()},
		"ApplicationKeyAndLists":       {shopKey, http.MethodGet, "/api/o/acme/p/shop/d/", "", 403, access.ErrOutOfScope.Error()},
		"ApplicationKeyAndSibling":     {shopKey, http.MethodGet, "/api/o/acme/p/shop/a/other/", "", 403, access.ErrOutOfScope.Error()},
		"GrantBeforeBodyAndLookUp":     {readKey, http.MethodPost, "/api/o/nobody/u/", bad, 403, "the API key lacks the permission user:write"},
		"IdIsLookedAtAfterwards":       {otherKey, http.MethodGet, "/api/o/acme/p/shop/d/x/", "", 403, "the API key lacks the permission distributionlist:read"},
		"EncodedScopeIsTheSameScope":   {acmeKey, http.MethodGet, "/api/o/%61cme/u/anna/", "", 200, ""},
		"ScopeIsComparedDecoded":       {acmeKey, http.MethodGet, "/api/o/acme%2Fx/u/anna/", "", 403, access.ErrOutOfScope.Error()},
		"InsideTheScopeMissingIs404":   {fullKey, http.MethodGet, "/api/o/nobody/u/anna/", "", 404, "the organization does not exist"},
		"PingIsReachedFromEveryScope":  {shopKey, http.MethodGet, "/api/system/ping/", "", 200, ""},
		"WiderKeyCoversNarrowerScopes": {acmeKey, http.MethodGet, "/api/o/acme/p/shop/", "", 200, ""},
		"SmallGrantIsEnoughForItsCall": {readKey, http.MethodGet, "/api/v1/user/acme/anna/", "", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			w := f.do(request{method: c.method, path: c.path, key: c.key, body: c.body})
			require.Equal(t, c.status, w.Code, w.Body.String())
			if c.status == http.StatusForbidden {
				assert.Zero(t, f.store.used(), "nothing is looked up")
			}
			if c.detail != "" {
				assert.Equal(t, c.detail, problemOf(t, w).Detail)
			}
		})
	}
}

func TestRoutesRequireTheirGrant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, r := range httpapi.Routes() {
		if r.Grant == "" || r.Grant == access.SystemPing {
			continue
		}
		w := f.do(request{method: r.Method, path: fill(r.Path), key: otherKey})
		require.Equal(t, http.StatusForbidden, w.Code, "%s %s", r.Method, r.Path)
		assert.Equal(t, "the API key lacks the permission "+string(r.Grant), problemOf(t, w).Detail)
	}
	assert.Zero(t, f.store.used())
}

func TestUnavailableAuthenticator(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.auth.err = fault.New(fault.Unavailable, "the database is not available")
	w := f.do(request{path: "/api/system/ping/"})
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	assert.Empty(t, w.Header().Get("WWW-Authenticate"))
}

func limited(perSecond float64) func(*httpapi.Options) {
	return func(o *httpapi.Options) {
		o.Quotas, o.AuthFailureLimit = quotas.NewDefaults(quotas.Limits{quotas.Requests: perSecond}), perSecond
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	ping := request{path: "/api/system/ping/"}

	t.Run("DelaysAKey", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, limited(2))
		one, two := ping, ping
		one.key, two.key = tokens[0], tokens[1]
		for range 2 {
			require.Equal(t, http.StatusOK, f.do(one).Code)
		}
		w := f.do(one)
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		assert.Equal(t, "an API key may make 2 requests a second", problemOf(t, w).Detail)
		assert.Equal(t, http.StatusOK, f.do(two).Code, "another key is not affected")
		f.clock.Advance(time.Second)
		assert.Equal(t, http.StatusOK, f.do(one).Code)
	})

	t.Run("CountsForbiddenRequestsToo", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, limited(1))
		forbidden := request{path: "/api/o/acme/u/", key: otherKey}
		require.Equal(t, http.StatusForbidden, f.do(forbidden).Code)
		assert.Equal(t, http.StatusTooManyRequests, f.do(forbidden).Code)
	})

	t.Run("RetryAfterIsRoundedUp", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, limited(0.3))
		require.Equal(t, http.StatusOK, f.do(ping).Code)
		assert.Equal(t, "4", f.do(ping).Header().Get("Retry-After"))
	})

	t.Run("IsInEveryResponse", func(t *testing.T) {
		t.Parallel()
		const ours, strangers = `"rate_limit";q=9;w=1`, `"auth_failure_limit";q=9;w=1`
		for name, c := range map[string]struct {
			request
			status        int
			policy, state string
		}{
			"OK":                {request{path: ping.path, key: tokens[0]}, 200, ours, `"rate_limit";r=8;t=1`},
			"Forbidden":         {request{path: "/api/o/other/", key: acmeKey}, 403, ours, `"rate_limit";r=8;t=1`},
			"NotFound":          {request{path: "/api/o/nobody/"}, 404, ours, `"rate_limit";r=8;t=1`},
			"NoRoute":           {request{path: "/api/nothing/"}, 404, ours, `"rate_limit";r=8;t=1`},
			"NoUsername":        {request{method: http.MethodPost, path: "/api/o/acme/p/shop/a/web/unregister/"}, 404, ours, `"rate_limit";r=8;t=1`},
			"Method":            {request{method: http.MethodPut, path: ping.path}, 405, ours, `"rate_limit";r=8;t=1`},
			"Options":           {request{method: http.MethodOptions, path: ping.path}, 405, ours, `"rate_limit";r=8;t=1`},
			"Invalid":           {request{path: usersPath + "?page=2"}, 400, ours, `"rate_limit";r=8;t=1`},
			"BodyIsCounted":     {request{method: http.MethodPost, path: usersPath, key: acmeKey, body: `{"email":1}`}, 400, ours + `, "body_rate_limit";q=100;qu="content-bytes";w=1`, `"rate_limit";r=8;t=1, "body_rate_limit";r=89;t=1`},
			"UnknownKey":        {request{path: ping.path, key: "nobody"}, 401, strangers, `"auth_failure_limit";r=8;t=1`},
			"NoKey":             {request{path: ping.path, key: "-"}, 401, strangers, `"auth_failure_limit";r=8;t=1`},
			"UnknownKeyNoRoute": {request{path: "/api/nothing/", key: "nobody"}, 404, strangers, `"auth_failure_limit";r=8;t=1`},
			"NoKeyNoRoute":      {request{path: "/api/nothing/", key: "-"}, 404, "", ""},
			"TakesNoKey":        {request{path: "/api/openapi.json"}, 200, "", ""},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t, limited(9), func(o *httpapi.Options) {
					o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.Requests: 9, quotas.Bodies: 100})
				}).do(c.request)
				require.Equal(t, c.status, w.Code, w.Body.String())
				assert.Equal(t, c.policy, w.Header().Get("RateLimit-Policy"))
				assert.Equal(t, c.state, w.Header().Get("RateLimit"))
			})
		}
	})

	t.Run("DelaysRequestsForMissingObjects", func(t *testing.T) {
		t.Parallel()
		for _, key := range []string{fullKey, "nobody"} {
			f := newFixture(t, limited(1))
			nothing := request{path: "/api/nothing/", key: key}
			require.Equal(t, http.StatusNotFound, f.do(nothing).Code)
			w := f.do(nothing)
			require.Equal(t, http.StatusTooManyRequests, w.Code)
			assert.Equal(t, "1", w.Header().Get("Retry-After"))
			assert.Contains(t, w.Header().Get("RateLimit"), `_limit";r=0;t=1`)
		}
	})

	t.Run("ZeroSwitchesBothOff", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		for range 200 {
			require.Equal(t, http.StatusOK, f.do(ping).Code)
			require.Equal(t, http.StatusUnauthorized, f.do(request{path: ping.path, key: "-"}).Code)
		}
	})
}

func TestAuthFailureLimit(t *testing.T) {
	t.Parallel()
	attempt := func(remote string) request {
		return request{path: "/api/system/ping/", key: "nobody", remote: remote}
	}

	t.Run("FromOneAddress", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, limited(2))
		for range 2 {
			require.Equal(t, http.StatusUnauthorized, f.do(attempt("192.0.2.1:1000")).Code)
		}
		asked := f.auth.calls()
		w := f.do(attempt("192.0.2.1:2000"))
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		assert.Equal(t, asked, f.auth.calls(), "nothing is looked up")
		assert.Equal(t, http.StatusUnauthorized, f.do(attempt("192.0.2.2:1000")).Code, "another address is not affected")
		f.clock.Advance(time.Second)
		assert.Equal(t, http.StatusUnauthorized, f.do(attempt("192.0.2.1:1000")).Code)
	})

	t.Run("PreviouslyValidKeyContinues", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, limited(2))
		good := request{path: "/api/system/ping/", key: tokens[0], remote: "192.0.2.1:1000"}
		require.Equal(t, http.StatusOK, f.do(good).Code)
		for range 5 {
			f.do(attempt("192.0.2.1:1000"))
		}
		assert.Equal(t, http.StatusOK, f.do(good).Code)
		good.key = tokens[1]
		assert.Equal(t, http.StatusTooManyRequests, f.do(good).Code, "a key that was never seen has to wait")
	})

	t.Run("OneNetworkOfIPv6", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, limited(1))
		require.Equal(t, http.StatusUnauthorized, f.do(attempt("[2001:db8::1]:1000")).Code)
		assert.Equal(t, http.StatusTooManyRequests, f.do(attempt("[2001:db8::ffff:1]:1000")).Code)
		assert.Equal(t, http.StatusUnauthorized, f.do(attempt("[2001:db8:0:1::1]:1000")).Code)
	})
}

func TestClientAddressBehindProxies(t *testing.T) {
	t.Parallel()
	trusting := func(o *httpapi.Options) {
		o.AuthFailureLimit = 1
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	}
	for name, c := range map[string]struct {
		first, second   string // X-Forwarded-For
		remote          string
		countedTogether bool
	}{
		"DifferentClients":           {"192.0.2.1", "192.0.2.2", "10.0.0.1:1", false},
		"SameClient":                 {"192.0.2.1", "192.0.2.1", "10.0.0.1:1", true},
		"ForgedEntriesInFront":       {"1.1.1.1, 192.0.2.1", "2.2.2.2, 192.0.2.1", "10.0.0.1:1", true},
		"TrustedHopsArePassedOver":   {"192.0.2.1, 10.1.1.1", "192.0.2.2, 10.1.1.1", "10.0.0.1:1", false},
		"NotFromATrustedProxy":       {"192.0.2.1", "192.0.2.2", "198.51.100.1:1", true},
		"Nonsense":                   {"x", "y", "10.0.0.1:1", true},
		"GarbageAfterTheClient":      {"x, 192.0.2.1", "y, 192.0.2.2", "10.0.0.1:1", false},
		"IPv6":                       {"2001:db8::1", "2001:db8:1::1", "[fd00::1]:1", false},
		"MappedIPv4":                 {"192.0.2.1", "192.0.2.2", "[::ffff:10.0.0.1]:1", false},
		"AUnixSocketIsTheProxy":      {"192.0.2.1", "192.0.2.2", "@", false},
		"NoNetworkAddressIsNoProxy":  {"192.0.2.1", "192.0.2.2", "pipe", true},
		"BracketsAndSpacesAreTaken":  {" [2001:db8::1] ", "[2001:db8:1::1]", "10.0.0.1:1", false},
		"EveryHopTrustedIsTheFirst":  {"10.9.9.9", "10.8.8.8", "10.0.0.1:1", false},
		"NoHeaderIsTheProxyItself":   {"", "", "10.0.0.1:1", true},
		"EmptyEntryEndsTheBelief":    {"192.0.2.1,", "192.0.2.2,", "10.0.0.1:1", true},
		"AddressWithPortIsNoAddress": {"192.0.2.1:80", "192.0.2.2:80", "10.0.0.1:1", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, trusting)
			attempt := func(forwarded string) int {
				r := request{path: "/api/system/ping/", key: "nobody", remote: c.remote}
				if forwarded != "" {
					r.header = map[string]string{"X-Forwarded-For": forwarded}
				}
				return f.do(r).Code
			}
			require.Equal(t, http.StatusUnauthorized, attempt(c.first))
			want := http.StatusUnauthorized
			if c.countedTogether {
				want = http.StatusTooManyRequests
			}
			assert.Equal(t, want, attempt(c.second))
		})
	}
}

// tokens are two keys of valid form.
var tokens = [2]string{access.Prefix + strings.Repeat("0", 2*sha256.Size), access.Prefix + strings.Repeat("1", 2*sha256.Size)}

// fill fills in the parameters of a route's path.
func fill(path string) string {
	return strings.NewReplacer("{org}", "acme", "{prj}", "shop", "{app}", "web", "{username}", "anna", "{pk}", "1",
		"{notification_pk}", "1", "{id}", "1", "{group}", "1", "{key}", "1", "{channel}", "1", "{evt}", "tick", "{version}", "1", "{name}", "footer").Replace(path)
}
