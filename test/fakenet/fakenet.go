// Package fakenet is the Internet of tests: names that resolve to any address, public ones too,
// while all traffic goes to listeners on loopback.
package fakenet

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/tocsin/tocsin/adapters/outbound"
)

// Host is what a name stands for.
type Host struct {
	// Addrs are what the name resolves to, one after the other: the first look-up gets the first,
	// and the last stays.
	Addrs []string
	// Listener is host:port on loopback, where connections go once their address was let pass.
	Listener string
}

// Net is names and who listens there.
type Net struct {
	mu    sync.Mutex
	hosts map[string]Host
	asked map[string]int
	made  int
}

// New returns a network with these hosts, by name or address.
func New(hosts map[string]Host) *Net { return &Net{hosts: hosts, asked: map[string]int{}} }

// PublicAddress is an address that anybody may reach.
const PublicAddress = "93.184.216.34"

// At is a host at a public address.
func At(listener string) Host { return Host{Addrs: []string{PublicAddress}, Listener: listener} }

// Guard returns a guard whose connections go through the network.
func (n *Net) Guard(allowed outbound.Allowed) *outbound.Guard {
	return outbound.With(allowed, n.connect)
}

// Faraway returns a guard whose connections go to the given address, and seem to lead to a public
// one.
func Faraway() *outbound.Guard {
	return outbound.With(outbound.Allowed{}, func(ctx context.Context, network, address string, _ func(netip.Addr) error) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return far{conn, &net.TCPAddr{IP: net.ParseIP(PublicAddress), Port: 443}}, nil
	})
}

// Made is how many connections were made.
func (n *Net) Made() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.made
}

func (n *Net) connect(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error) {
	host, addr, err := n.resolve(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if err := check(addr); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, host.Listener)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.made++
	n.mu.Unlock()
	return far{conn, &net.TCPAddr{IP: addr.AsSlice(), Port: 443}}, nil
}

// resolve finds the host of an address and where it is at this moment.
func (n *Net) resolve(address string) (Host, netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return Host{}, netip.Addr{}, err
	}
	host, known := n.hosts[name]
	if !known {
		return Host{}, netip.Addr{}, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	addr, err := netip.ParseAddr(host.Addrs[min(n.asked[name], len(host.Addrs)-1)])
	n.asked[name]++
	return host, addr, err
}

// far is a connection that seems to lead somewhere else.
type far struct {
	net.Conn

	remote net.Addr
}

func (f far) RemoteAddr() net.Addr { return f.remote }
