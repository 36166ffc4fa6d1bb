// Package outbound makes the connections of all drivers to other hosts. Its guard decides which
// addresses a channel may connect to, and its descriptions of errors do not repeat what a private
// service sent. It knows addresses and connections, but not what is sent.
package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Reach is how far a connection may go.
type Reach bool

// The reaches.
const (
	Public     Reach = false // public addresses, and those that the installation allows
	Everywhere Reach = true
)

// Allowed are the non-public destinations that connections of reach Public may use.
type Allowed struct {
	Networks []netip.Prefix
	// Hosts are names in lower case. Every address that such a name resolves to is allowed.
	Hosts []string
}

// Connect opens a connection like [net.Dialer.DialContext]. It calls check for each resolved
// address before connecting to it.
type Connect func(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error)

// Guard decides which addresses may be connected to.
type Guard struct {
	allowed Allowed
	connect Connect
}

// ForbiddenError means that an address may not be connected to.
type ForbiddenError struct{ Addr netip.Addr }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%s is not a public address, and outbound_allow does not name it", e.Addr)
}

// dialTimeout is the timeout for establishing a connection.
const dialTimeout = 10 * time.Second

// New returns a guard that resolves names with resolver; nil is the system's.
func New(a Allowed, resolver *net.Resolver) *Guard {
	return With(a, func(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error) {
		dialer := net.Dialer{Timeout: dialTimeout, Resolver: resolver, ControlContext: control(check)}
		return dialer.DialContext(ctx, network, address)
	})
}

// With returns a guard with its own function for connecting, for tests and special networks.
func With(a Allowed, connect Connect) *Guard {
	return &Guard{allowed: Allowed{Networks: slices.Clone(a.Networks), Hosts: slices.Clone(a.Hosts)}, connect: connect}
}

// Dial connects to host:port. The error wraps a *ForbiddenError if the reach does not allow an
// address of the host.
func (g *Guard) Dial(ctx context.Context, reach Reach, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	check := g.Check
	if reach == Everywhere || g.allows(host) {
		check = func(netip.Addr) error { return nil }
	}
	return g.connect(ctx, network, address, check)
}

// Check returns a *ForbiddenError unless connections of reach Public may go to the address.
func (g *Guard) Check(addr netip.Addr) error {
	addr = addr.WithZone("").Unmap()
	if IsPublic(addr) || slices.ContainsFunc(g.allowed.Networks, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return nil
	}
	return &ForbiddenError{Addr: addr}
}

// allows reports whether a name is allowed, whatever it resolves to.
func (g *Guard) allows(host string) bool {
	return slices.Contains(g.allowed.Hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
}

// control checks the address of a connection after name resolution. A check of the name before that
// would be useless, because the name may then resolve to another address.
func control(check func(netip.Addr) error) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return check(target.Addr())
	}
}
