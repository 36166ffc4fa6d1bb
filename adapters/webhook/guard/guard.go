// Package guard decides which network addresses a program may connect to when somebody else names them: those of the public
// Internet, and networks that were allowed on top. It knows addresses, never names nor what is sent there.
package guard

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// Guard holds the networks that may be connected to although they are not public.
type Guard struct{ allowed []netip.Prefix }

// New returns a guard that lets pass what is public and what is allowed.
func New(allowed []netip.Prefix) Guard { return Guard{allowed: slices.Clone(allowed)} }

// ForbiddenError says that an address may not be connected to.
type ForbiddenError struct{ Addr netip.Addr }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%s is not a public address, and its network is not allowed", e.Addr)
}

// Control is for [net.Dialer.ControlContext]: it looks at the address of a connection at the last moment, after names were resolved. What a
// name meant a moment ago protects nobody.
func (g Guard) Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return g.Check(target.Addr())
}

// Check returns a *ForbiddenError unless the address may be connected to.
func (g Guard) Check(addr netip.Addr) error {
	addr = addr.WithZone("").Unmap()
	if isPublic(addr) || slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return nil
	}
	return &ForbiddenError{Addr: addr}
}

// isPublic tells whether an address can belong to anybody: it is none of those that the registries of RFC 6890 set apart, and
// no IPv6 address that takes a gateway to such an IPv4 address.
func isPublic(addr netip.Addr) bool {
	for _, tunnel := range tunnels {
		if tunnel.prefix.Contains(addr) {
			bytes := addr.As16()
			return isPublic(netip.AddrFrom4([4]byte(bytes[tunnel.at : tunnel.at+4])))
		}
	}
	if !addr.Is4() && !globalUnicast.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// globalUnicast is the IPv6 that is given to anybody. What lies outside is loopback, private, link-local, multicast or not in use.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// tunnels are the IPv6 networks whose addresses carry an IPv4 address, and where it begins.
var tunnels = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

// reserved are the networks that are nobody's, or ours.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network; most systems take 0.0.0.0 for themselves
	netip.MustParsePrefix("10.0.0.0/8"),      // private
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("127.0.0.0/8"),     // loopback
	netip.MustParsePrefix("169.254.0.0/16"),  // link-local, where clouds keep their metadata
	netip.MustParsePrefix("172.16.0.0/12"),   // private
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),  // private
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("224.0.0.0/4"),     // multicast
	netip.MustParsePrefix("240.0.0.0/4"),     // for the future, and broadcast
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("3fff::/20"),       // documentation
}
