package contract_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/quotas"
)

func TestRequestID(t *testing.T) {
	t.Parallel()

	t.Run("IsTheCallersOwnWhenItIsSane", both(func(w *world) {
		for _, id := range []string{"1", "abc-123", "a/b:c.d_e+f=", strings.Repeat("x", 128)} {
			a := w.with("X-Request-ID", id).get("/api/system/ping/")
			assert.Equal(w, []string{id}, a.header.Values("X-Request-ID"))
			problem := read[problem](w.with("X-Request-ID", id).get("/nowhere/").is(http.StatusNotFound))
			assert.Equal(w, id, problem.RequestID)
		}
	}))

	t.Run("IsANewOneOtherwise", both(func(w *world) {
		seen := map[string]bool{}
		for _, id := range []string{"", "two words", "ümlaut", `quo"te`, "<b>", strings.Repeat("x", 129), "a,b", "\ttab"} {
			got := w.with("X-Request-ID", id).get("/api/system/ping/").header.Get("X-Request-ID")
			assert.NotEqual(w, id, got)
			assert.NotEmpty(w, got)
			assert.False(w, seen[got], "the same twice")
			seen[got] = true
		}
	}))
}

func TestProblems(t *testing.T) {
	t.Parallel()

	// answer.check checks the problem document of every error in all tests.
	t.Run("NeverShowAStackTraceASQLTextOrAFilePath", both(func(w *world) {
		w.enroll("anna@example.org")
		for _, a := range []answer{
			w.get("/nowhere/"),
			w.nobody().get(usersPath),
			w.as(w.issue(scope("globex"), access.SystemPing)).get(usersPath),
			w.get(userPath("'; DROP TABLE users; --")),
			w.post(usersPath, raw(`{"email": "`+strings.Repeat("a", 300)+`@example.org"}`)),
			w.post(listsPath, object{"name": "customers"}),
			w.do(http.MethodPut, usersPath, nil),
			w.with("Content-Type", "text/plain").post(usersPath, raw(`x`)),
		} {
			require.GreaterOrEqual(w, a.status, http.StatusBadRequest)
			said := strings.ToLower(strings.ReplaceAll(string(a.body), a.header.Get("X-Request-ID"), "")) // Its letters are chance.
			for _, leak := range []string{"goroutine", ".go:", "SELECT", "INSERT", "constraint", "sqlite", "SQLSTATE", "pgx", "gorm", "/work/", "/tmp/", "panic"} {
				assert.NotContains(w, said, strings.ToLower(leak))
			}
		}
	}))
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	limited := func(o *httpapi.Options) {
		o.Quotas, o.AuthFailureLimit = quotas.NewDefaults(quotas.Limits{quotas.Requests: 2}), 2
	}

	t.Run("KeyLimitIs429WithRetryAfter", both(func(w *world) {
		hasty, other := w.as(w.issue(access.Scope{}, access.SystemPing)), w.as(w.issue(access.Scope{}, access.SystemPing))
		hasty.get("/api/system/ping/").is(http.StatusOK)
		hasty.get("/api/system/ping/").is(http.StatusOK)
		a := hasty.get("/api/system/ping/").is(http.StatusTooManyRequests)
		require.Equal(w, "1", a.header.Get("Retry-After"))
		require.Equal(w, "rate_limit", read[problem](a).Quota)
		other.get("/api/system/ping/").is(http.StatusOK)
		w.clock.Advance(time.Second)
		hasty.get("/api/system/ping/").is(http.StatusOK)
	}, limited))

	t.Run("OrganizationLimitCoversAllItsKeys", both(func(w *world) {
		first, second := w.as(w.issue(scope("acme"), access.FullAccess)), w.as(w.issue(scope("acme/shop/web"), access.FullAccess))
		first.get("/api/system/ping/").is(http.StatusOK)
		second.get("/api/system/ping/").is(http.StatusOK)
		first.get("/api/o/globex/").is(http.StatusForbidden)
		a := second.get(webPath).is(http.StatusTooManyRequests)
		require.Equal(w, "1", a.header.Get("Retry-After"))
		require.Equal(w, "organization_rate_limit", read[problem](a).Quota)
		w.as(w.issue(scope("globex"), access.SystemPing)).get("/api/system/ping/").is(http.StatusOK)
		w.get("/api/o/acme/").is(http.StatusOK)
	}, func(o *httpapi.Options) { o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.OrganizationRequests: 3}) }))

	t.Run("BodiesOfAnOrganizationAreCountedInBytes", both(func(w *world) {
		first, second := w.as(w.issue(scope("acme"), access.FullAccess)), w.as(w.issue(scope("acme/shop/web"), access.FullAccess))
		large := raw(`{"context": {"filling": "` + strings.Repeat("x", 700) + `"}}`)
		path := webPath + "e/shipped/trigger/"
		first.post(path, large).is(http.StatusCreated)
		w.unchanged(func() {
			for _, c := range []client{first, second} {
				for _, body := range []any{large, chunked(large)} {
					a := c.post(path, body).is(http.StatusTooManyRequests)
					require.Equal(w, "1", a.header.Get("Retry-After"))
					require.Equal(w, "body_rate_limit", read[problem](a).Quota)
				}
			}
		})
		second.post(path, object{}).is(http.StatusCreated)
		w.post(path, large).is(http.StatusCreated)
		w.clock.Advance(time.Second)
		second.post(path, chunked(large)).is(http.StatusCreated)
	}, func(o *httpapi.Options) { o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.Bodies: 1000}) }))

	t.Run("StoredAnswersCountAsBodies", both(func(w *world) {
		m := w.as(w.issue(scope("acme"), access.FullAccess))
		w.post(usersPath, object{"email": "anna@example.org", "custom_fields": object{"x": strings.Repeat("x", 60_000)}}).is(http.StatusCreated)
		again := object{"email": "anna@example.org"}
		m.with("Idempotency-Key", "1").post(usersPath, again).is(http.StatusOK)
		w.unchanged(func() {
			a := m.with("Idempotency-Key", "2").post(usersPath, again).is(http.StatusTooManyRequests)
			require.Equal(w, "body_rate_limit", read[problem](a).Quota)
		})
	}, func(o *httpapi.Options) { o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.Bodies: 70_000}) }))

	t.Run("IsInEveryResponseToAKey", both(func(w *world) {
		c := w.as(w.issue(scope("acme"), access.OrganizationRead))
		for i, path := range []string{"/api/o/acme/", "/api/o/globex/", "/api/o/acme/p/none/"} {
			a := c.get(path)
			require.Equal(w, `"rate_limit";q=3;w=1, "organization_rate_limit";q=5;w=1`, a.header.Get("RateLimit-Policy"))
			require.Equal(w, fmt.Sprintf(`"rate_limit";r=%d;t=1, "organization_rate_limit";r=%d;t=1`, 2-i, 4-i), a.header.Get("RateLimit"))
		}
		require.Equal(w, `"rate_limit";r=0;t=1`, c.get("/api/o/acme/").is(http.StatusTooManyRequests).header.Get("RateLimit"))
		require.Equal(w, `"rate_limit";q=3;w=1`, w.get("/api/o/acme/").header.Get("RateLimit-Policy"), "a key of the installation is of no organization")
		stray := w.as(w.issue(scope("acme"), access.FullAccess)).get("/api/o/acme/none/").is(http.StatusNotFound)
		require.Equal(w, `"rate_limit";r=2;t=1, "organization_rate_limit";r=1;t=1`, stray.header.Get("RateLimit"), "a path that does not exist counts, too")
		require.Empty(w, w.nobody().get("/api/o/acme/").header.Get("RateLimit"), "there is no limit of failures here")
	}, func(o *httpapi.Options) {
		o.Quotas = quotas.NewDefaults(quotas.Limits{quotas.Requests: 3, quotas.OrganizationRequests: 5})
	}))

	t.Run("OrganizationMayHaveItsOwn", both(func(w *world) {
		w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Quotas: quotas.Limits{quotas.Requests: 0.5, quotas.OrganizationRequests: 0}}}})
		ours, theirs := w.as(w.issue(scope("acme"), access.SystemPing)), w.as(w.issue(scope("globex"), access.SystemPing))
		require.Equal(w, `"rate_limit";q=1;w=2`, ours.get("/api/system/ping/").is(http.StatusOK).header.Get("RateLimit-Policy"))
		require.Equal(w, "2", ours.get("/api/system/ping/").is(http.StatusTooManyRequests).header.Get("Retry-After"))
		for range 2 {
			theirs.get("/api/system/ping/").is(http.StatusOK)
		}
		theirs.get("/api/system/ping/").is(http.StatusTooManyRequests)
		w.apply(app.Blueprint{Organizations: []app.BlueprintOrganization{{Slug: "acme", Name: "ACME", Quotas: quotas.Limits{}}}})
		w.clock.Advance(5 * time.Second) // So long an instance trusts what it knows of a key.
		for range 2 {
			ours.get("/api/system/ping/").is(http.StatusOK)
		}
		ours.get("/api/system/ping/").is(http.StatusTooManyRequests)
	}, limited))

	t.Run("FailedAuthenticationLimitIsPerAddress", both(func(w *world) {
		w.get("/api/system/ping/").is(http.StatusOK)
		for left := range 2 {
			a := w.nobody().get("/api/system/ping/").is(http.StatusUnauthorized)
			require.Equal(w, `"auth_failure_limit";q=2;w=1`, a.header.Get("RateLimit-Policy"))
			require.Equal(w, fmt.Sprintf(`"auth_failure_limit";r=%d;t=1`, 1-left), a.header.Get("RateLimit"))
		}
		a := w.nobody().get("/api/system/ping/").is(http.StatusTooManyRequests)
		require.NotEmpty(w, a.header.Get("Retry-After"))
		require.Equal(w, `"auth_failure_limit";r=0;t=1`, a.header.Get("RateLimit"))
		w.get("/api/system/ping/").is(http.StatusOK) // A key that is known to be good is not held up by its neighbours.
		w.clock.Advance(time.Second)
		w.nobody().get("/api/system/ping/").is(http.StatusUnauthorized)
	}, limited))

	t.Run("ZeroIsNone", both(func(w *world) {
		for range 50 {
			w.get("/api/system/ping/").is(http.StatusOK)
			w.nobody().get("/api/system/ping/").is(http.StatusUnauthorized)
		}
	}))
}

func TestCompression(t *testing.T) {
	t.Parallel()

	t.Run("IsThatWhichTheClientAsksFor", both(func(w *world) {
		for i := range 50 {
			w.enroll(fmt.Sprintf("user%d@example.org", i))
		}
		plain := w.with("Accept-Encoding", "identity").get(usersPath).is(http.StatusOK)
		require.Equal(w, "Accept-Encoding", plain.header.Get("Vary"))
		for _, coding := range []string{"gzip", "zstd"} {
			r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.base+usersPath, http.NoBody)
			require.NoError(w, err)
			r.Header.Set("Authorization", "Key "+rootKey)
			r.Header.Set("Accept-Encoding", coding)
			answer, err := w.http.Do(r)
			require.NoError(w, err)
			require.Equal(w, coding, answer.Header.Get("Content-Encoding"))
			require.Equal(w, "Accept-Encoding", answer.Header.Get("Vary"))
			packed, err := io.ReadAll(answer.Body)
			require.NoError(w, err)
			require.NoError(w, answer.Body.Close())
			require.Less(w, len(packed), len(plain.body)/3)
			body, err := unpack(coding, packed)
			require.NoError(w, err)
			require.Equal(w, string(plain.body), string(body))
		}
	}))
}

func unpack(coding string, packed []byte) ([]byte, error) {
	if coding == "zstd" {
		r, err := zstd.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestURLs(t *testing.T) {
	t.Parallel()
	urls := func(c client) []string {
		org := read[struct{ Users, Projects, Channels string }](c.get("/api/o/acme/").is(http.StatusOK))
		project := read[struct{ Applications, Channels, Lists string }](c.get(shopPath).is(http.StatusOK))
		projects := read[[]struct{ Applications, Channels, Lists string }](c.get("/api/o/acme/p/").is(http.StatusOK))
		made := read[distributionList](c.post(listsPath, object{"name": "made " + c.base}).is(http.StatusCreated))
		shown := read[distributionList](c.get(idPath(listsPath, made.ID)).is(http.StatusOK))
		app := read[application](c.get(webPath).is(http.StatusOK))
		all := []string{org.Users, org.Projects, org.Channels, project.Applications, project.Channels, project.Lists,
			projects[0].Applications, projects[0].Channels, projects[0].Lists, made.Members, shown.Members, app.Events}
		for _, l := range read[[]distributionList](c.get(listsPath).is(http.StatusOK)) {
			all = append(all, l.Members)
		}
		for _, a := range read[[]application](c.get(shopPath + "a/").is(http.StatusOK)) {
			all = append(all, a.Events)
		}
		return all
	}

	t.Run("AreAbsoluteAndCanBeFollowed", both(func(w *world) {
		for _, u := range urls(w.client) {
			require.True(w, strings.HasPrefix(u, w.base+"/api/o/acme/"), u)
			w.get(u).is(http.StatusOK)
		}
	}))

	t.Run("AreBuiltFromTheConfiguredBaseURL", both(func(w *world) {
		for _, u := range urls(w.client) {
			path, found := strings.CutPrefix(u, "https://notify.example.org/tocsin/api/")
			require.True(w, found, u)
			w.get("/api/" + path).is(http.StatusOK)
		}
		link := w.get(listsPath + "?limit=1").is(http.StatusOK).header.Get("Link")
		require.True(w, strings.HasPrefix(link, "<https://notify.example.org/tocsin"+listsPath+"?"), link)
	}, func(o *httpapi.Options) { o.BaseURL = "https://notify.example.org/tocsin/" }))

	t.Run("AreBuiltFromTheRequestElse", both(func(w *world) {
		a := w.with("Host", "notify.example.org:8443").with("X-Forwarded-Proto", "https").get(webPath).is(http.StatusOK)
		require.Equal(w, "https://notify.example.org:8443"+webPath+"e/", read[application](a).Events)
	}, func(o *httpapi.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }))

	t.Run("TrustNoOtherProxy", both(func(w *world) {
		c := w.with("X-Forwarded-Proto", "https").with("X-Forwarded-Host", "evil.example")
		require.Equal(w, w.base+webPath+"e/", read[application](c.get(webPath)).Events)
	}))
}
