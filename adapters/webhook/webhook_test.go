package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/webhook"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// loopback are the addresses that the tests allow.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func channel(settings channels.Settings) channels.Channel {
	return channels.Channel{Name: "hooks", Protocol: channels.WEBHOOK, Driver: webhook.Name, Settings: settings, Active: true}
}

func open(t *testing.T, settings channels.Settings, allowed []netip.Prefix) deliveries.Dispatcher {
	t.Helper()
	driver := webhook.New(outbound.New(outbound.Allowed{Networks: allowed}, nil))
	require.NoError(t, driver.Check(channel(settings)))
	d, err := driver.Open(channel(settings))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func message(to string) deliveries.Message {
	return deliveries.Message{ID: "delivery-1", To: to, Subject: "Grüße", Text: "a < b & c\n", HTML: "<p>a &lt; b</p>",
		Unsubscribe: "https://tocsin.example.org/u/1", Facts: map[string]string{"event": "order-shipped", "organization": "acme"}}
}

// target is a server that records its requests.
type target struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func listen(t *testing.T, answer http.HandlerFunc) *target {
	t.Helper()
	h := &target{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.requests = append(h.requests, r)
		h.bodies = append(h.bodies, string(body))
		h.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func fail(t *testing.T, d deliveries.Dispatcher, m deliveries.Message) *deliveries.Failure {
	t.Helper()
	var failure *deliveries.Failure
	require.ErrorAs(t, d.Dispatch(t.Context(), m), &failure)
	require.False(t, failure.Channel, "one target is never the fault of all: %s", failure)
	return failure
}

func TestRequest(t *testing.T) {
	t.Parallel()
	t.Run("PostsTheMessageAsJSON", func(t *testing.T) {
		t.Parallel()
		h := listen(t, status(http.StatusNoContent))
		require.NoError(t, open(t, channels.Settings{"headers": map[string]any{"authorization": "Bearer t", "X-Team": "ops"}, "hosts": []any{"127.0.0.1"}}, loopback).
			Dispatch(t.Context(), message(h.URL+"/in?a=b#fragment")))
		r := h.requests[0]
		assert.Equal(t, http.MethodPost, r.Method)
		assert.Equal(t, "/in?a=b", r.URL.String())
		assert.Equal(t, "application/json; charset=utf-8", r.Header.Get("Content-Type"))
		assert.Equal(t, "Bearer t", r.Header.Get("Authorization"))
		assert.Equal(t, "ops", r.Header.Get("X-Team"))
		assert.Equal(t, "Tocsin", r.Header.Get("User-Agent"))
		assert.Equal(t, "delivery-1", r.Header.Get("Webhook-Id"))
		assert.Empty(t, r.Header.Get("Webhook-Signature"), "without a secret there is nothing to sign with")
		assert.JSONEq(t, `{"id": "delivery-1", "subject": "Grüße", "text": "a < b & c\n", "html": "<p>a &lt; b</p>", "unsubscribe": "https://tocsin.example.org/u/1",
			"facts": {"event": "order-shipped", "organization": "acme"}}`, h.bodies[0])
		assert.Contains(t, h.bodies[0], `a < b & c`)
	})
	t.Run("AbsentIsOmitted", func(t *testing.T) {
		t.Parallel()
		h := listen(t, status(http.StatusOK))
		require.NoError(t, open(t, nil, loopback).Dispatch(t.Context(), deliveries.Message{ID: "1", To: h.URL, Text: "t"}))
		assert.JSONEq(t, `{"id": "1", "subject": "", "text": "t", "facts": {}}`, h.bodies[0])
	})
	t.Run("SignsAsStandardWebhooks", func(t *testing.T) {
		t.Parallel()
		key := []byte("0123456789abcdef0123456789abcdef")
		h := listen(t, status(http.StatusOK))
		d := open(t, channels.Settings{"secret": "whsec_" + base64.StdEncoding.EncodeToString(key)}, loopback)
		require.NoError(t, d.Dispatch(t.Context(), message(h.URL)))
		header := h.requests[0].Header
		seconds, err := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
		require.NoError(t, err)
		assert.WithinDuration(t, time.Now(), time.Unix(seconds, 0), time.Minute)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("delivery-1." + header.Get("Webhook-Timestamp") + "." + h.bodies[0]))
		assert.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), header.Get("Webhook-Signature"))
		assert.Contains(t, header, "Webhook-Id")
	})
	for name, to := range map[string]string{"NoURL": "ada@example.org", "NoHost": "http:///x", "AnotherScheme": "ftp://example.org/", "AFile": "file:///etc/passwd",
		"AControlCharacter": "http://example.org/\r\nX: y", "Nothing": ""} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			assert.False(t, fail(t, open(t, nil, loopback), message(to)).Temporary)
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for code, temporary := range map[int]bool{301: false, 302: false, 303: false, 304: false, 307: false, 308: false, 400: false, 401: false, 403: false, 404: false,
		405: false, 409: false, 410: false, 413: false, 422: false, 451: false, 408: true, 425: true, 429: true, 500: true, 501: true, 502: true, 503: true, 504: true, 599: true} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			h := listen(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(code)
				_, _ = io.WriteString(w, "no\r\nthanks \x1b[31m"+strings.Repeat("x", 1000))
			})
			failure := fail(t, open(t, nil, loopback), message(h.URL))
			assert.Equal(t, temporary, failure.Temporary, failure)
			assert.False(t, failure.Unsent)
			assert.Contains(t, failure.Error(), "answered "+strconv.Itoa(code))
			assert.Less(t, len(failure.Error()), 300)
			assert.NotContains(t, failure.Error(), "\x1b")
			assert.NotContains(t, failure.Error(), h.URL, "an address may hold a password")
			assert.Len(t, h.requests, 1, "a redirect was followed")
		})
	}
	for _, code := range []int{200, 201, 202, 204, 299} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, open(t, nil, loopback).Dispatch(t.Context(), message(listen(t, status(code)).URL)))
		})
	}
	for name, c := range map[string]struct {
		header   string
		from, to time.Duration
	}{
		"None":        {"", 0, 0},
		"Seconds":     {"120", 2 * time.Minute, 2 * time.Minute},
		"Padded":      {" 7 ", 7 * time.Second, 7 * time.Second},
		"ADate":       {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 58 * time.Minute, time.Hour},
		"ADateBefore": {"Wed, 21 Oct 2015 07:28:00 GMT", 0, 0},
		"Negative":    {"-5", 0, 0},
		"FarNegative": {"-9223372037", 0, 0},
		"Nonsense":    {"soon", 0, 0},
		"TooLong":     {"999999999999", 24 * time.Hour, 24 * time.Hour},
		"FarTooLong":  {"99999999999999999999999999", 0, 0},
	} {
		t.Run("RetryAfter/"+name, func(t *testing.T) {
			t.Parallel()
			h := listen(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.header)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			failure := fail(t, open(t, nil, loopback), message(h.URL))
			assert.GreaterOrEqual(t, failure.RetryAfter, c.from)
			assert.LessOrEqual(t, failure.RetryAfter, c.to)
		})
	}
	t.Run("AnEndlessAnswerIsNotRead", func(t *testing.T) {
		t.Parallel()
		h := listen(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		})
		assert.False(t, fail(t, open(t, nil, loopback), message(h.URL)).Temporary)
	})
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	t.Run("NoListener", func(t *testing.T) {
		t.Parallel()
		failure := fail(t, open(t, nil, loopback), message("http://127.0.0.1:1/token"))
		assert.True(t, failure.Temporary)
		assert.True(t, failure.Target, "it opens the breaker of its host")
		assert.EqualError(t, failure, outbound.Refused)
		assert.NotContains(t, failure.Error(), "token")
	})
	t.Run("TheTargetHangsUp", func(t *testing.T) {
		t.Parallel()
		h := listen(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		assert.True(t, fail(t, open(t, nil, loopback), message(h.URL)).Temporary)
	})
	t.Run("TheTargetHangs", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		h := listen(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		})
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		failure := deliveries.FailureOf(open(t, nil, loopback).Dispatch(ctx, message(h.URL)))
		assert.True(t, failure.Temporary)
		assert.False(t, failure.Channel)
		assert.True(t, failure.Target)
		assert.EqualError(t, failure, "no answer in time")
	})
	t.Run("GivenUp", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		h := listen(t, func(_ http.ResponseWriter, r *http.Request) {
			cancel(errors.New("shutting down"))
			<-r.Context().Done()
		})
		failure := deliveries.FailureOf(open(t, nil, loopback).Dispatch(ctx, message(h.URL)))
		assert.True(t, failure.Temporary)
		assert.False(t, failure.Channel)
		assert.EqualError(t, failure, "given up: shutting down")
	})
	t.Run("ATargetWithAnUnknownCertificateIsTriedAgain", func(t *testing.T) {
		t.Parallel()
		h := httptest.NewUnstartedServer(status(http.StatusOK))
		h.Config.ErrorLog = log.New(io.Discard, "", 0)
		h.StartTLS()
		defer h.Close()
		failure := fail(t, open(t, nil, loopback), message(h.URL))
		assert.True(t, failure.Temporary)
		assert.EqualError(t, failure, outbound.Distrusted)
	})
	t.Run("ConnectionsAreUsedAgain", func(t *testing.T) {
		t.Parallel()
		var opened atomic.Int64
		h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok": true}`) }))
		h.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			opened.Add(1)
			return ctx
		}
		h.Start()
		defer h.Close()
		d := open(t, nil, loopback)
		for range 20 {
			require.NoError(t, d.Dispatch(t.Context(), message(h.URL)))
		}
		assert.EqualValues(t, 1, opened.Load())
	})
}

func TestForbiddenTargets(t *testing.T) {
	t.Parallel()
	h := listen(t, status(http.StatusOK))
	port := h.URL[strings.LastIndexByte(h.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]",
		"[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "10.0.0.1", "192.168.0.1", "172.16.0.1", "169.254.169.254", "[fe80::1]", "[fe80::1%25lo]", "[fd00::1]",
		"100.64.0.1", "224.0.0.1", "[ff02::1]", "255.255.255.255"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			err := open(t, nil, nil).Dispatch(t.Context(), message("http://"+host+port+"/"))
			require.Error(t, err)
			failure := deliveries.FailureOf(err)
			assert.False(t, failure.Channel)
			// Some systems do not resolve unusual spellings at all; then there is nothing to
			// refuse.
			if failure.Temporary {
				assert.EqualError(t, err, outbound.Unresolved)
				return
			}
			assert.EqualError(t, err, outbound.NotAllowed)
			assert.True(t, failure.Unsent)
			assert.Contains(t, failure.Detailed(), "is not a public address")
		})
	}
	t.Run("AnAllowedNetworkIsNotForbidden", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, open(t, nil, loopback[:1]).Dispatch(t.Context(), message(h.URL)))
	})
	t.Run("AnotherAllowedNetworkDoesNotHelp", func(t *testing.T) {
		t.Parallel()
		assert.False(t, fail(t, open(t, nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}), message(h.URL)).Temporary)
	})
	t.Cleanup(func() { assert.Len(t, h.requests, 1) })
}

func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	proxy := listen(t, status(http.StatusOK))
	h := listen(t, status(http.StatusOK))
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	t.Setenv("NO_PROXY", "")
	d := open(t, nil, loopback)
	require.NoError(t, d.Dispatch(t.Context(), message(h.URL)))
	assert.False(t, fail(t, d, message("http://10.0.0.1/")).Temporary, "a proxy would have fetched it")
	assert.Empty(t, proxy.requests)
	assert.Len(t, h.requests, 1)
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	h := listen(t, status(http.StatusOK))
	d := open(t, channels.Settings{"secret": "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24))}, loopback)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				assert.NoError(t, d.Dispatch(t.Context(), message(h.URL)))
			}
		})
	}
	wg.Wait()
	assert.Len(t, h.requests, 320)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	driver := webhook.New(outbound.New(outbound.Allowed{}, nil))
	secret := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for name, settings := range map[string]channels.Settings{
		"Nothing":      nil,
		"Everything":   {"secret": secret(32), "headers": map[string]any{"Authorization": "Bearer x", "X-Empty": ""}, "hosts": []any{"example.org", "*.Example.org", "bücher.example", "::1", "a_b"}, "concurrency": json.Number("4"), "rate_per_second": 1},
		"Shortest":     {"secret": secret(24)},
		"Longest":      {"secret": secret(64)},
		"HostsInALine": {"hosts": "example.org, *.example.com"},
	} {
		t.Run("Accepts/"+name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, driver.Check(channel(settings)))
		})
	}
	const wrongHosts = "settings.hosts: must be host names or addresses, without scheme, port and path"
	const wrongSecret = "settings.secret: must be whsec_ and 24 to 64 bytes in base64"
	for name, c := range map[string]struct {
		settings channels.Settings
		want     string
	}{
		"AShortSecret":      {channels.Settings{"secret": secret(23)}, wrongSecret},
		"ALongSecret":       {channels.Settings{"secret": secret(65)}, wrongSecret},
		"ABareSecret":       {channels.Settings{"secret": base64.StdEncoding.EncodeToString(make([]byte, 32))}, wrongSecret},
		"ASecretInWords":    {channels.Settings{"secret": "whsec_correct horse battery staple"}, wrongSecret},
		"AURL":              {channels.Settings{"url": "https://example.org"}, "settings.url: is not a setting of the driver webhook"},
		"HeadersInALine":    {channels.Settings{"headers": "X: y"}, "settings.headers: must be an object"},
		"AHeaderOfTwoLines": {channels.Settings{"headers": map[string]any{"X": "a\r\nY: b"}, "hosts": []any{"x"}}, "settings.headers.X: must be a string without control characters"},
		"InvalidHeader":     {channels.Settings{"headers": map[string]any{"X Y": "z"}, "hosts": []any{"x"}}, "settings.headers.X Y: is not the name of a header"},
		"HeadersForAnybody": {channels.Settings{"headers": map[string]any{"X": "y"}}, "settings.hosts: is required with headers: they are secret, and addresses are chosen by recipients"},
		"HeadersForNobody":  {channels.Settings{"headers": map[string]any{"X": "y"}, "hosts": []any{}}, "settings.hosts: is required with headers: they are secret, and addresses are chosen by recipients"},
		"AHostWithAPort":    {channels.Settings{"hosts": []any{"example.org:443"}}, wrongHosts},
		"HostIsAURL":        {channels.Settings{"hosts": []any{"https://example.org"}}, wrongHosts},
		"EveryHost":         {channels.Settings{"hosts": []any{"*"}}, wrongHosts},
		"HostsBelowOnes":    {channels.Settings{"hosts": []any{"*.127.0.0.1"}}, wrongHosts},
		"AnEmptyHost":       {channels.Settings{"hosts": []any{" "}}, wrongHosts},
		"InvalidHosts":      {channels.Settings{"hosts": 7}, "settings.hosts: must be a list of strings"},
		"AHeaderOfNoName":   {channels.Settings{"headers": map[string]any{"": "z"}, "hosts": []any{"x"}}, "settings.headers.: is not the name of a header"},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, driver.Check(channel(c.settings)), c.want)
			_, err := driver.Open(channel(c.settings))
			require.EqualError(t, err, c.want)
		})
	}
	for _, name := range []string{"host", "content-type", "Content-Length", "webhook-id", "Webhook-Signature", "WEBHOOK-TIMESTAMP", "connection", "transfer-encoding",
		"te", "trailer", "upgrade", "expect", "proxy-authorization"} {
		t.Run("RefusesTheHeader/"+name, func(t *testing.T) {
			t.Parallel()
			err := driver.Check(channel(channels.Settings{"headers": map[string]any{name: "x"}, "hosts": []any{"x"}}))
			require.EqualError(t, err, "settings.headers."+name+": is a header that the driver sets itself")
		})
	}
	t.Run("RefusesAnotherProtocol", func(t *testing.T) {
		t.Parallel()
		require.EqualError(t, driver.Check(channels.Channel{Driver: "webhook", Protocol: channels.SMS}), "driver: webhook carries WEBHOOK, not SMS")
	})
	t.Run("KeepsSecretsSecret", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "webhook", driver.Name())
		assert.Equal(t, []string{"secret", "headers"}, channels.Secrets(driver.Settings()))
	})
}
