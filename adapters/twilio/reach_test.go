package twilio_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/twilio"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/fakenet"
)

func dispatched(t *testing.T, g *outbound.Guard, c channels.Channel) *deliveries.Failure {
	t.Helper()
	d, err := twilio.New(g).Open(c)
	require.NoError(t, err)
	return fail(t, d, message())
}

func TestReach(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "localhost"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			a := serve(t, refuse(418, 7))
			c := channel(channels.Settings{"base_url": "http://" + host + a.URL[len("http://127.0.0.1"):]})
			c.Unrestricted = false
			failure := dispatched(t, outbound.New(outbound.Allowed{}, nil), c)
			require.EqualError(t, failure, outbound.NotAllowed)
			assert.True(t, failure.Temporary && failure.Channel, "everybody's messages wait for somebody to set it right")
			assert.NotContains(t, failure.Detailed(), "because of that")
			assert.Empty(t, a.requests)

			c.Unrestricted = true
			failure = dispatched(t, outbound.New(outbound.Allowed{}, nil), c)
			require.EqualError(t, failure, "answered 418, error 7", "what a private service says is not repeated")
			assert.Contains(t, failure.Detailed(), "because of that")
			assert.Len(t, a.requests, 1)
		})
	}
}

func TestPrivateAPIIsRedacted(t *testing.T) {
	t.Parallel()
	a := serve(t, refuse(400, 21211))
	net := fakenet.New(map[string]fakenet.Host{"localhost": fakenet.At(a.Listener.Addr().String())})
	require.EqualError(t, dispatched(t, net.Guard(outbound.Allowed{}), channel(channels.Settings{"base_url": "http://localhost"})),
		"answered 400, error 21211: because of that")
}

// TestBehindAProxy checks that nothing is repeated from a response through a proxy, whose server
// may be anywhere; and that no proxy is used if the guard could not check the server's address.
func TestBehindAProxy(t *testing.T) {
	proxy := serve(t, refuse(400, 21211))
	t.Setenv("HTTP_PROXY", "http://proxy.example:3128")
	net := fakenet.New(map[string]fakenet.Host{"proxy.example": fakenet.At(proxy.Listener.Addr().String())})
	c := channel(channels.Settings{"base_url": "https://api.example.org"})
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	failure := dispatched(t, net.Guard(outbound.Allowed{}), c)
	assert.NotContains(t, failure.Error(), "because of that")
	assert.Equal(t, http.MethodConnect, proxy.requests[0].Method)

	c.Unrestricted = false
	require.EqualError(t, dispatched(t, net.Guard(outbound.Allowed{}), c), outbound.Unresolved)
	assert.Len(t, proxy.requests, 1)
}
