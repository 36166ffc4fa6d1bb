// Package outbound is how drivers connect to what lies outside: every dialer of every driver asks
// its guard, which decides what a channel may reach, and its words say what went wrong without
// repeating what a private service said. It knows addresses and connections; it does not know what
// is sent.
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
	Public     Reach = false // public addresses, and what the installation allows on top
	Everywhere Reach = true
)

// Allowed is what connections of reach Public may go to although it is not public.
type Allowed struct {
	Networks []netip.Prefix
	// Hosts are names in lower case. Whatever such a name resolves to may be connected to.
	Hosts []string
}

// Connect opens a connection like [net.Dialer.DialContext]. check is asked about each resolved
// address before it is connected to.
type Connect func(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error)

// Guard decides what may be connected to.
type Guard struct {
	allowed Allowed
	connect Connect
}

// ForbiddenError says that an address may not be connected to.
type ForbiddenError struct{ Addr netip.Addr }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%s is not a public address, and outbound_allow does not name it", e.Addr)
}

// dialTimeout is how long a connection may take to be made.
const dialTimeout = 10 * time.Second

// New returns a guard that connects by resolver; nil is the system's.
func New(a Allowed, resolver *net.Resolver) *Guard {
	return With(a, func(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error) {
		dialer := net.Dialer{Timeout: dialTimeout, Resolver: resolver, ControlContext: control(check)}
		return dialer.DialContext(ctx, network, address)
	})
}

// With returns a guard that connects in its own way, for tests and networks of another kind.
func With(a Allowed, connect Connect) *Guard {
	return &Guard{allowed: Allowed{Networks: slices.Clone(a.Networks), Hosts: slices.Clone(a.Hosts)}, connect: connect}
}

// Dial connects to host:port. A *ForbiddenError is among the errors where the reach does not allow
// an address that the host resolved to.
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

// allows reports whether a name may be connected to whatever it resolves to.
func (g *Guard) allows(host string) bool {
	return slices.Contains(g.allowed.Hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
}

// control looks at the address of a connection at the last moment, after names were resolved: what
// a name resolved to a moment ago protects nobody.
func control(check func(netip.Addr) error) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return check(target.Addr())
	}
}
