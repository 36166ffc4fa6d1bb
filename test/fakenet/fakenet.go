// Package fakenet is a fake network for tests: names resolve to any address, also to public ones,
// and all connections go to listeners on loopback.
package fakenet

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/tocsin/tocsin/adapters/outbound"
)

// Host is the host of a name.
type Host struct {
	// Addrs are the addresses that the name resolves to: the first look-up returns the first one,
	// and so on; further look-ups return the last one.
	Addrs []string
	// Listener is the host:port on loopback to which allowed connections go.
	Listener string
}

// Net is a network of hosts.
type Net struct {
	mu    sync.Mutex
	hosts map[string]Host
	asked map[string]int
	made  int
}

// New returns a network with these hosts, by name or address.
func New(hosts map[string]Host) *Net { return &Net{hosts: hosts, asked: map[string]int{}} }

// PublicAddress is a public address.
const PublicAddress = "93.184.216.34"

// At returns a host with a public address.
func At(listener string) Host { return Host{Addrs: []string{PublicAddress}, Listener: listener} }

// Guard returns a guard whose connections go through the network.
func (n *Net) Guard(allowed outbound.Allowed) *outbound.Guard {
	return outbound.With(allowed, n.connect)
}

// Redirecting returns a guard whose connections go to the given address, but have a public remote
// address.
func Redirecting() *outbound.Guard { return outbound.With(outbound.Allowed{}, redirect) }

func redirect(ctx context.Context, network, address string, _ func(netip.Addr) error) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return remoteConn{conn, &net.TCPAddr{IP: net.ParseIP(PublicAddress), Port: 443}}, nil
}

// Gauge counts the connections that a client has opened and not closed. A server cannot count them,
// because it may accept a new connection before it sees that another one is closed.
type Gauge struct {
	mu        sync.Mutex
	now, most int
}

// Redirecting returns a guard like Redirecting. Its connections are counted.
func (g *Gauge) Redirecting() *outbound.Guard {
	return outbound.With(outbound.Allowed{}, func(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error) {
		conn, err := redirect(ctx, network, address, check)
		if err != nil {
			return nil, err
		}
		g.add(1)
		return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { g.add(-1) })}, nil
	})
}

// Most returns the largest number of connections that were open at the same time.
func (g *Gauge) Most() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

func (g *Gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.most = max(g.most, g.now)
}

// countedConn is a connection that a gauge counts until it is closed.
type countedConn struct {
	net.Conn

	closed func()
}

// Close closes the connection.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.closed()
	return err
}

// Made returns the number of connections.
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
	return remoteConn{conn, &net.TCPAddr{IP: addr.AsSlice(), Port: 443}}, nil
}

// resolve returns the host of an address, and its current IP address.
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

// remoteConn is a connection with another remote address.
type remoteConn struct {
	net.Conn

	remote net.Addr
}

func (f remoteConn) RemoteAddr() net.Addr { return f.remote }
