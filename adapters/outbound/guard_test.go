package outbound_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, addrs := range map[string][]string{
		"Loopback":      {"127.0.0.1", "127.255.255.254", "::1"},
		"Unspecified":   {"0.0.0.0", "0.1.2.3", "::"},
		"Private":       {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12:3456::1"},
		"LinkLocal":     {"169.254.169.254", "fe80::1", "fe80::1%eth0", "fec0::1"},
		"CarrierGrade":  {"100.64.0.1", "100.127.255.255"},
		"Multicast":     {"224.0.0.1", "239.255.255.255", "ff02::1"},
		"Broadcast":     {"255.255.255.255", "240.0.0.1"},
		"Metadata":      {"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"},
		"Documentation": {"192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::1", "3fff::1"},
		"Special":       {"192.0.0.8", "192.88.99.1", "198.18.0.1", "198.19.255.255", "2001::1", "2001:1ff::1", "100::1", "5f00::1", "4000::1"},
		"MappedIPv4":    {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"},
		"Compatible":    {"::127.0.0.1", "::8.8.8.8"},
		"Translated":    {"::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"},
		"NAT64":         {"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8"},
		"SixToFour":     {"2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:101::1"},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			for _, text := range addrs {
				err := outbound.New(outbound.Allowed{}, nil).Check(netip.MustParseAddr(text))
				var forbidden *outbound.ForbiddenError
				assert.ErrorAs(t, err, &forbidden, text)
			}
		})
	}
	for _, text := range []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2001:200::1", "2a00::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1"} {
		t.Run("LetsPassWhatIsPublic/"+text, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, outbound.New(outbound.Allowed{}, nil).Check(netip.MustParseAddr(text)))
		})
	}
	t.Run("AllowsTheAllowed", func(t *testing.T) {
		t.Parallel()
		g := outbound.New(outbound.Allowed{Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}}, nil)
		for _, text := range []string{"10.1.2.3", "::ffff:10.1.2.3", "fd00::1", "fd00::1%eth0", "1.1.1.1"} {
			assert.NoError(t, g.Check(netip.MustParseAddr(text)), text)
		}
		for _, text := range []string{"10.2.0.1", "127.0.0.1", "fc00::1", "64:ff9b::10.1.2.3", "2002:a01:203::"} {
			assert.Error(t, g.Check(netip.MustParseAddr(text)), text)
		}
	})
	t.Run("InvalidAddressIsRefused", func(t *testing.T) {
		t.Parallel()
		require.Error(t, outbound.New(outbound.Allowed{}, nil).Check(netip.Addr{}))
		_, err := outbound.New(outbound.Allowed{}, nil).Dial(t.Context(), outbound.Everywhere, "tcp", "example.org")
		require.Error(t, err)
	})
}

func TestDial(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	reaches := func(t *testing.T, g *outbound.Guard, r outbound.Reach, host string) error {
		t.Helper()
		conn, err := g.Dial(t.Context(), r, "tcp4", net.JoinHostPort(host, port))
		if err == nil {
			assert.False(t, outbound.PeerOf(conn).Public())
			require.NoError(t, conn.Close())
		}
		return err
	}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	// However the address is written, the dialer resolves it before it calls the guard.
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "::ffff:127.0.0.1"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			var forbidden *outbound.ForbiddenError
			require.ErrorAs(t, reaches(t, outbound.New(outbound.Allowed{}, nil), outbound.Public, host), &forbidden)
			require.NoError(t, reaches(t, outbound.New(outbound.Allowed{}, nil), outbound.Everywhere, host))
			require.NoError(t, reaches(t, outbound.New(outbound.Allowed{Networks: loopback}, nil), outbound.Public, host))
		})
	}
	t.Run("AllowedNameMayBeAnywhere", func(t *testing.T) {
		t.Parallel()
		g := outbound.New(outbound.Allowed{Hosts: []string{"localhost"}}, nil)
		require.NoError(t, reaches(t, g, outbound.Public, "localhost"))
		require.NoError(t, reaches(t, g, outbound.Public, "LocalHost"))
		require.Error(t, reaches(t, g, outbound.Public, "127.0.0.1"), "the name is allowed and not its address")
	})
}

// TestRebinding uses a name that first resolves to another address, and to loopback at the time of
// the connection. The address of the connection decides.
func TestRebinding(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	resolver, asked := nameServer(t, netip.MustParseAddr("127.0.0.1"))
	g := outbound.New(outbound.Allowed{}, resolver)

	_, err = g.Dial(t.Context(), outbound.Public, "tcp4", "rebind.example:"+port)
	var forbidden *outbound.ForbiddenError
	require.ErrorAs(t, err, &forbidden)
	assert.Equal(t, netip.MustParseAddr("127.0.0.1"), forbidden.Addr)
	assert.Positive(t, asked.Load())

	conn, err := g.Dial(t.Context(), outbound.Everywhere, "tcp4", "rebind.example:"+port)
	require.NoError(t, err, "the name leads to the listener for those who may go there")
	require.NoError(t, conn.Close())
}
