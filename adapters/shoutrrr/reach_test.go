package shoutrrr_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/shoutrrr"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/fakenet"
)

// banner is text of a private service that must not be repeated.
const banner = "internal-secret-banner"

// inside returns a web server on this machine that answers with the banner, and the number of its
// connections.
func inside(t *testing.T, status int) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error": "`+banner+`", "errcode": "`+banner+`", "message": "`+banner+`"}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, &connections
}

func failed(t *testing.T, g *outbound.Guard, c channels.Channel, address string) *deliveries.Failure {
	t.Helper()
	d, err := shoutrrr.New(g).Open(c)
	require.NoError(t, err)
	err = d.Dispatch(t.Context(), message(address))
	var failure *deliveries.Failure
	require.ErrorAs(t, err, &failure)
	return failure
}

// steerable are the services that connect to the host of their URL. HOST stands for it.
var steerable = map[string]struct{ url, address string }{
	"bark":       {"bark://:{address}@HOST?scheme=http", "devicekey"},
	"googlechat": {"googlechat://HOST/v1/spaces/{address}/messages?key=k&token=t", "FOO"},
	"gotify":     {"gotify://HOST/{address}?disabletls=yes", "Aaa.bbb.ccc.ddd"},
	"matrix":     {"matrix://:t0ken@HOST/?rooms={address}&disabletls=yes", "!ada:example.org"},
	"mattermost": {"mattermost://bot@HOST/t0ken/{address}?disabletls=yes", "town-square"},
	"ntfy":       {"ntfy://HOST/{address}?scheme=http", "topic"},
	"opsgenie":   {"opsgenie://HOST/api-key?entity={address}", "ada"},
	"rocketchat": {"rocketchat://bot@HOST/tokenA/tokenB/@{address}", "ada"},
	"signal":     {"signal://HOST/+15005550006/{address}?disabletls=yes", "+436601234567"},
	"zulip":      {"zulip://bot%40example.org:key@HOST/?stream={address}", "news"},
}

func TestReach(t *testing.T) {
	t.Parallel()
	for name, c := range steerable {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			t.Run(name+"/"+host, func(t *testing.T) {
				t.Parallel()
				s, connections := inside(t, http.StatusForbidden)
				at := net.JoinHostPort(host, s.URL[strings.LastIndexByte(s.URL, ':')+1:])
				ch := channel(strings.Replace(c.url, "HOST", at, 1))
				failure := failed(t, outbound.New(outbound.Allowed{}, nil), ch, c.address)
				if name == "zulip" { // It requires the standard port, where nothing listens here.
					require.EqualError(t, failure, "zulip: "+outbound.NotAllowed)
					return
				}
				require.EqualError(t, failure, name+": "+outbound.NotAllowed)
				assert.True(t, failure.Temporary && failure.Channel, "everybody's messages wait for somebody to set it right")
				assert.NotContains(t, failure.Detailed(), banner)
				assert.Zero(t, connections.Load())

				ch.Unrestricted = true
				failure = failed(t, outbound.New(outbound.Allowed{}, nil), ch, c.address)
				assert.NotZero(t, connections.Load())
				assert.NotContains(t, failure.Error(), banner, "what a private service says is not repeated")
			})
		}
	}
	t.Run("EveryConfigurableServiceIsTested", func(t *testing.T) {
		t.Parallel()
		for name, row := range services {
			scheme, _, _ := strings.Cut(row.url, "://")
			_, tried := steerable[scheme]
			elsewhere := shoutrrr.Over(func(outbound.Reach) http.RoundTripper { return nil }).
				Check(channel(strings.NewReplacer("open.larksuite.com", "other.example.org", "example.webhook.office.com", "other.example.org").Replace(row.url)))
			if scheme == "lark" || scheme == "teams" {
				require.Error(t, elsewhere, "%s connects to its maker only", name)
				continue
			}
			host := strings.Contains(row.url, ".example.org") || strings.Contains(row.url, "@example.org") || scheme == "googlechat" || scheme == "opsgenie"
			assert.Equal(t, host, tried, name)
		}
	})
}

// TestPrivateServicesAreRedacted checks that operators of the installation see them.
func TestPrivateServicesAreRedacted(t *testing.T) {
	t.Parallel()
	s, _ := inside(t, http.StatusNotFound)
	ch := channel(strings.Replace(steerable["matrix"].url, "HOST", s.Listener.Addr().String(), 1))
	ch.Unrestricted = true
	failure := failed(t, outbound.New(outbound.Allowed{}, nil), ch, "!ada:example.org")
	require.EqualError(t, failure, "matrix: answered 404 Not Found")
	assert.Contains(t, failure.Detailed(), banner)
}

// TestPrivateRedirects checks that no redirect leads from a public to a private
// address.
func TestPrivateRedirects(t *testing.T) {
	t.Parallel()
	for name, c := range steerable {
		if !strings.Contains(c.url, "=yes") && !strings.Contains(c.url, "scheme=http") {
			continue // TLS only; the transport is the same.
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, connections := inside(t, http.StatusOK)
			outside := httptest.NewServer(http.RedirectHandler(s.URL, http.StatusTemporaryRedirect))
			t.Cleanup(outside.Close)
			world := fakenet.New(map[string]fakenet.Host{"chat.example.org": fakenet.At(outside.Listener.Addr().String()),
				"127.0.0.1": {Addrs: []string{"127.0.0.1"}, Listener: s.Listener.Addr().String()}})
			for _, unrestricted := range []bool{false, true} {
				ch := channel(strings.Replace(c.url, "HOST", "chat.example.org", 1))
				ch.Unrestricted = unrestricted
				require.EqualError(t, failed(t, world.Guard(outbound.Allowed{}), ch, c.address), name+": answered 307 Temporary Redirect")
			}
			assert.Zero(t, connections.Load())
		})
	}
}

// TestDNSRebinding plays a name server that changes its answer between two messages.
func TestDNSRebinding(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	world := fakenet.New(map[string]fakenet.Host{"ntfy.example.org": {Addrs: []string{fakenet.PublicAddress, "::ffff:10.0.0.1"}, Listener: s.Listener.Addr().String()}})
	d, err := shoutrrr.New(world.Guard(outbound.Allowed{})).Open(channel("ntfy://ntfy.example.org/{address}?scheme=http"))
	require.NoError(t, err)
	require.NoError(t, d.Dispatch(t.Context(), message("topic")))
	require.EqualError(t, d.Dispatch(t.Context(), message("topic")), "ntfy: "+outbound.NotAllowed)
	assert.Equal(t, 1, world.Made())
}
