package web

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
)

// Proxies are the addresses whose forwarding headers are trusted.
type Proxies []netip.Prefix

func (p Proxies) trusts(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// Client returns the network of the client: the address for IPv4, the /64 for IPv6, because a
// single host may own a /64.
func (p Proxies) Client(r *http.Request) netip.Prefix {
	address := p.client(r)
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // No error: an invalid address has 0 bits, and so has the zero prefix.
	return network
}

// trustsSender reports whether the connecting host is trusted. The peer of a unix socket is a proxy
// on this machine.
func (p Proxies) trustsSender(r *http.Request) bool {
	return r.RemoteAddr == "@" || p.trusts(remoteAddress(r))
}

// client returns the address of the client; behind trusted proxies the last address in
// X-Forwarded-For that is not a trusted proxy.
func (p Proxies) client(r *http.Request) netip.Addr {
	address := remoteAddress(r)
	if p.trustsSender(r) {
		hops := strings.Split(strings.Join(r.Header.Values(echo.HeaderXForwardedFor), ","), ",")
		for i := len(hops) - 1; i >= 0 && (!address.IsValid() || p.trusts(address)); i-- {
			hop, err := netip.ParseAddr(strings.Trim(hops[i], " \t[]"))
			if err != nil {
				break
			}
			address = hop.Unmap()
		}
	}
	return address.WithZone("")
}

// Address returns the address of the client as text; empty when it has none.
func (p Proxies) Address(r *http.Request) string {
	a := p.client(r)
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// Scheme returns how the client reached the service: https when the connection is encrypted or a
// trusted proxy says so.
func (p Proxies) Scheme(r *http.Request) string {
	if r.TLS != nil || (p.trustsSender(r) && strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https")) {
		return "https"
	}
	return "http"
}

func remoteAddress(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // Not a network connection; no prefix contains it.
	}
	return at.Addr().Unmap().WithZone("")
}
