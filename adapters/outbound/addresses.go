package outbound

import (
	"net/netip"
	"slices"
)

// IsPublic reports whether an address is on the public internet: not in a block reserved by the
// registries of RFC 6890, not one of the clouds' metadata addresses, and not an IPv6 address that a
// gateway translates to such an IPv4 address.
func IsPublic(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	for _, t := range tunnels {
		if t.prefix.Contains(addr) {
			bytes := addr.As16()
			return IsPublic(netip.AddrFrom4([4]byte(bytes[t.at : t.at+4])))
		}
	}
	if !addr.Is4() && !globalUnicast.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// globalUnicast is the allocated IPv6 space. Addresses outside it are loopback, private,
// link-local, multicast or unused.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// tunnel is an IPv6 network whose addresses embed an IPv4 address, and the byte where that begins.
type tunnel struct {
	prefix netip.Prefix
	at     int
}

var tunnels = []tunnel{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

// reserved are the networks that are not public, or local to us.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network; on most systems 0.0.0.0 is the host itself
	netip.MustParsePrefix("10.0.0.0/8"),       // private
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT, and the metadata of Alibaba Cloud
	netip.MustParsePrefix("127.0.0.0/8"),      // loopback
	netip.MustParsePrefix("168.63.129.16/32"), // the metadata of Azure, which has a public address
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local, where most clouds keep their metadata
	netip.MustParsePrefix("172.16.0.0/12"),    // private
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),   // private
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("224.0.0.0/4"),      // multicast
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, and broadcast
	netip.MustParsePrefix("2001::/23"),        // protocol assignments, including Teredo
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("3fff::/20"),        // documentation
}
