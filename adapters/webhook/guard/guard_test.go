package guard_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/webhook/guard"
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
				err := guard.New(nil).Check(netip.MustParseAddr(text))
				var forbidden *guard.ForbiddenError
				assert.ErrorAs(t, err, &forbidden, text)
			}
		})
	}
	for _, text := range []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2001:200::1", "2a00::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1"} {
		t.Run("LetsPassWhatIsPublic/"+text, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, guard.New(nil).Check(netip.MustParseAddr(text)))
		})
	}
	t.Run("LetsPassWhatIsAllowed", func(t *testing.T) {
		t.Parallel()
		g := guard.New([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")})
		for _, text := range []string{"10.1.2.3", "::ffff:10.1.2.3", "fd00::1", "fd00::1%eth0", "1.1.1.1"} {
			assert.NoError(t, g.Check(netip.MustParseAddr(text)), text)
		}
		for _, text := range []string{"10.2.0.1", "127.0.0.1", "fc00::1", "64:ff9b::10.1.2.3", "2002:a01:203::"} {
			assert.Error(t, g.Check(netip.MustParseAddr(text)), text)
		}
	})
	t.Run("WhatIsNoAddressIsRefused", func(t *testing.T) {
		t.Parallel()
		require.Error(t, guard.New(nil).Check(netip.Addr{}))
		require.Error(t, guard.New(nil).Control(t.Context(), "tcp", "example.org:80", nil))
	})
}

func TestControl(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	// However the address is written, the dialer resolves it before the guard sees it.
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		dialer := net.Dialer{ControlContext: guard.New(nil).Control}
		_, err := dialer.DialContext(t.Context(), "tcp4", host+":"+port)
		var forbidden *guard.ForbiddenError
		require.ErrorAs(t, err, &forbidden, host)

		dialer.ControlContext = guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).Control
		conn, err := dialer.DialContext(t.Context(), "tcp4", host+":"+port)
		require.NoError(t, err, host)
		require.NoError(t, conn.Close())
	}
}
