package web

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
)

// Proxies are the addresses whose word on a request counts.
type Proxies []netip.Prefix

func (p Proxies) trust(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// Client is the network that a request came from: the address for IPv4, the /64 for IPv6, where a
// single host owns that many.
func (p Proxies) Client(r *http.Request) netip.Prefix {
	address := p.client(r)
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // No error: an invalid address has 0 bits, and so has the zero prefix.
	return network
}

// trustSender reports whether the word of whoever connected counts. A unix socket is opened only by
// a proxy of this machine.
func (p Proxies) trustSender(r *http.Request) bool { return r.RemoteAddr == "@" || p.trust(remote(r)) }

// client is the address that a request came from; behind trusted proxies the last one in
// X-Forwarded-For that is no trusted proxy.
func (p Proxies) client(r *http.Request) netip.Addr {
	address := remote(r)
	if p.trustSender(r) {
		hops := strings.Split(strings.Join(r.Header.Values(echo.HeaderXForwardedFor), ","), ",")
		for i := len(hops) - 1; i >= 0 && (!address.IsValid() || p.trust(address)); i-- {
			hop, err := netip.ParseAddr(strings.Trim(hops[i], " \t[]"))
			if err != nil {
				break
			}
			address = hop.Unmap()
		}
	}
	return address.WithZone("")
}

// Address is the address that a request came from, as people write it; empty when it came from
// none.
func (p Proxies) Address(r *http.Request) string {
	a := p.client(r)
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// Scheme is how the client reached the service: https when the connection is encrypted or a trusted
// proxy says so.
func (p Proxies) Scheme(r *http.Request) string {
	if r.TLS != nil || (p.trustSender(r) && strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https")) {
		return "https"
	}
	return "http"
}

func remote(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // Not a network connection; no prefix contains it.
	}
	return at.Addr().Unmap().WithZone("")
}
