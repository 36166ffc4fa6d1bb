package outbound_test

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers every query for an IPv4 address with addr. It returns a resolver that uses it,
// and the number of queries.
func nameServer(t *testing.T, addr netip.Addr) (*net.Resolver, *atomic.Int64) {
	t.Helper()
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	var asked atomic.Int64
	go func() {
		question := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return // closed
			}
			asked.Add(1)
			var m dnsmessage.Message
			if !assert.NoError(t, m.Unpack(question[:n])) {
				return
			}
			m.Response, m.Additionals = true, nil
			for _, q := range m.Questions {
				if q.Type == dnsmessage.TypeA {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, // TTL 0
						Body:   &dnsmessage.AResource{A: addr.As4()}})
				}
			}
			answer, err := m.Pack()
			if !assert.NoError(t, err) {
				return
			}
			_, _ = server.WriteTo(answer, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}, &asked
}
