package webhook_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/webhook"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/fakenet"
)

// banner is text of a private service that must not be repeated.
const banner = "internal-secret-banner"

func says(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, banner)
	}
}

func dispatcher(t *testing.T, g *outbound.Guard, c channels.Channel) deliveries.Dispatcher {
	t.Helper()
	d, err := webhook.New(g).Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// TestReach checks which channels may reach a service on this machine.
func TestReach(t *testing.T) {
	t.Parallel()
	none := outbound.New(outbound.Allowed{}, nil)
	for name, c := range map[string]struct {
		unrestricted bool
		settings     channels.Settings
		reaches      bool
	}{
		"AnybodysChannel":                        {false, nil, false},
		"AnybodysChannelThatNamesTheHost":        {false, channels.Settings{"hosts": []any{"127.0.0.1"}}, false},
		"AnUnrestrictedChannelForAnyHost":        {true, nil, false},
		"AnUnrestrictedChannelThatNamesTheHost":  {true, channels.Settings{"hosts": []any{"127.0.0.1"}}, true},
		"AnUnrestrictedChannelThatNamesAnother":  {true, channels.Settings{"hosts": []any{"127.0.0.2"}}, false},
		"AnUnrestrictedChannelWithAnEmptyChoice": {true, channels.Settings{"hosts": []any{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := listen(t, says(http.StatusTeapot))
			ch := channel(c.settings)
			ch.Unrestricted = c.unrestricted
			failure := fail(t, dispatcher(t, none, ch), message(h.URL))
			assert.NotContains(t, failure.Error(), banner, "the service is private")
			if !c.reaches {
				assert.Empty(t, h.requests)
				assert.NotContains(t, failure.Detailed(), banner)
				return
			}
			assert.Len(t, h.requests, 1)
			require.EqualError(t, failure, "answered 418")
			assert.Contains(t, failure.Detailed(), banner, "who looks after the installation sees everything")
		})
	}
}

func TestPrivateTargetsAreRedacted(t *testing.T) {
	t.Parallel()
	h := listen(t, says(http.StatusTeapot))
	net := fakenet.New(map[string]fakenet.Host{"hooks.example.org": fakenet.At(h.Listener.Addr().String())})
	failure := fail(t, dispatcher(t, net.Guard(outbound.Allowed{}), channel(nil)), message("http://hooks.example.org/in"))
	require.EqualError(t, failure, "answered 418: "+banner)
}

func TestPrivateRedirects(t *testing.T) {
	t.Parallel()
	inside := listen(t, says(http.StatusOK))
	outside := listen(t, says(http.StatusTemporaryRedirect, "Location", inside.URL))
	net := fakenet.New(map[string]fakenet.Host{"hooks.example.org": fakenet.At(outside.Listener.Addr().String()),
		"127.0.0.1": {Addrs: []string{"127.0.0.1"}, Listener: inside.Listener.Addr().String()}})
	for _, unrestricted := range []bool{false, true} {
		ch := channel(channels.Settings{"hosts": []any{"hooks.example.org"}})
		ch.Unrestricted = unrestricted
		failure := fail(t, dispatcher(t, net.Guard(outbound.Allowed{}), ch), message("http://hooks.example.org/in"))
		require.EqualError(t, failure, "answered 307: redirects are not followed")
	}
	assert.Empty(t, inside.requests)
}

// TestDNSRebinding plays a name server that changes its answer between two messages.
func TestDNSRebinding(t *testing.T) {
	t.Parallel()
	h := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusNoContent)
	})
	net := fakenet.New(map[string]fakenet.Host{"hooks.example.org": {Addrs: []string{fakenet.PublicAddress, "169.254.169.254"}, Listener: h.Listener.Addr().String()}})
	d := dispatcher(t, net.Guard(outbound.Allowed{}), channel(nil))
	require.NoError(t, d.Dispatch(t.Context(), message("http://hooks.example.org/in")))
	require.EqualError(t, fail(t, d, message("http://hooks.example.org/in")), outbound.NotAllowed)
	assert.Len(t, h.requests, 1)
}

// TestConnectionsAreNotShared checks that a channel with limited reach never gets a connection of a
// channel that may reach everything.
func TestConnectionsAreNotShared(t *testing.T) {
	t.Parallel()
	h := listen(t, says(http.StatusOK))
	driver := webhook.New(outbound.New(outbound.Allowed{}, nil))
	trusted, other := channel(channels.Settings{"hosts": []any{"127.0.0.1"}}), channel(nil)
	trusted.Unrestricted = true
	first, err := driver.Open(trusted)
	require.NoError(t, err)
	second, err := driver.Open(other)
	require.NoError(t, err)
	require.NoError(t, first.Dispatch(t.Context(), message(h.URL)))
	require.EqualError(t, fail(t, second, message(h.URL)), outbound.NotAllowed)
	assert.Len(t, h.requests, 1)
}

func TestHosts(t *testing.T) {
	t.Parallel()
	h := listen(t, says(http.StatusOK))
	here := fakenet.At(h.Listener.Addr().String())
	net := fakenet.New(map[string]fakenet.Host{"example.org": here, "a.example.org": here, "a.b.example.org": here, "badexample.org": here,
		"xn--bcher-kva.example": here, fakenet.PublicAddress: here})
	d := dispatcher(t, net.Guard(outbound.Allowed{}), channel(channels.Settings{
		"headers": map[string]any{"Authorization": "Bearer t0ken"}, "hosts": []any{"*.Example.org", "BÜCHER.example.", fakenet.PublicAddress}}))
	for target, allowed := range map[string]bool{
		"http://a.example.org/": true, "http://A.EXAMPLE.ORG.:80/": true, "http://a.b.example.org/": true, "http://bücher.example/": true,
		"http://xn--bcher-kva.example/": true, "http://" + fakenet.PublicAddress + "/": true,
		"http://example.org/": false, "http://badexample.org/": false, "http://a.example.org@badexample.org/": false,
		"http://a.example.org.badexample.org/": false, "http://badexample.org/a.example.org": false, "http://badexample.org#.example.org": false,
	} {
		made := net.Made()
		err := d.Dispatch(t.Context(), message(target))
		if allowed {
			require.NoError(t, err, target)
			continue
		}
		require.EqualError(t, err, "the channel sends to other hosts only", target)
		assert.False(t, deliveries.FailureOf(err).Temporary, target)
		assert.True(t, deliveries.FailureOf(err).Unsent, target)
		assert.Equal(t, made, net.Made(), target)
	}
	for _, r := range h.requests {
		assert.Equal(t, "Bearer t0ken", r.Header.Get("Authorization"))
	}
}

func TestTargetsInASCII(t *testing.T) {
	t.Parallel()
	h := listen(t, says(http.StatusOK))
	net := fakenet.New(map[string]fakenet.Host{"xn--bcher-kva.example": fakenet.At(h.Listener.Addr().String())})
	require.NoError(t, dispatcher(t, net.Guard(outbound.Allowed{}), channel(nil)).Dispatch(t.Context(), message("http://Bücher.example/ä b?ö=ü&x=%20y z")))
	r := h.requests[0]
	assert.Equal(t, "xn--bcher-kva.example", r.Host)
	assert.Equal(t, "/%C3%A4%20b?%C3%B6=%C3%BC&x=%20y%20z", r.RequestURI)
	sent, err := url.Parse(r.RequestURI)
	require.NoError(t, err)
	assert.Equal(t, "/ä b", sent.Path)
	assert.Equal(t, "ü", sent.Query().Get("ö"))
	assert.NotContains(t, r.Host+r.RequestURI, "ü")
}
