package outbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// Options are the differences between the HTTP transports of drivers.
type Options struct {
	Proxies     bool // use the environment's proxies if the reach is Everywhere
	IdlePerHost int  // connections
	Idle        time.Duration
}

// A request that times out does not end its HTTP/2 connection. Pings find out whether the
// connection is dead; otherwise the system does, after about 15 minutes.
const (
	pingAfter   = 10 * time.Second // without anything from the server
	pingTimeout = 5 * time.Second
)

// Transport returns a transport whose connections have one reach. Connections of different reach
// never share a transport, because a request could reuse a connection that it may not open. A
// transport of reach Public uses no proxy, because the guard would check the address of the proxy,
// not of the target.
func (g *Guard) Transport(reach Reach, o Options) *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.Dial(ctx, reach, network, address)
		},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    o.IdlePerHost,
		IdleConnTimeout:        o.Idle,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	if o.Proxies && reach == Everywhere {
		t.Proxy = proxy
	}
	return t
}

// proxy returns the proxy of the environment. The peer counts as private, because its address is
// unknown.
func proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if p, watched := r.Context().Value(peerKey{}).(*Peer); watched && u != nil {
		p.record(netip.Addr{})
	}
	return u, err
}

// NoRedirects is for [http.Client.CheckRedirect]. It returns a redirect as the response, so that
// the message and its secrets go only to their target.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Peer is the host that answered a request: it records whether all connections of the request went
// to public addresses. It is safe for concurrent use.
type Peer struct {
	mu      sync.Mutex
	reached bool
	private bool
}

type peerKey struct{}

// Public reports whether a connection was made, and only to public addresses.
func (p *Peer) Public() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reached && !p.private
}

// Reached reports whether a connection was made.
func (p *Peer) Reached() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reached
}

func (p *Peer) record(addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reached = p.reached || addr.IsValid()
	p.private = p.private || !IsPublic(addr)
}

// PeerOf returns the peer of a connection.
func PeerOf(c net.Conn) *Peer {
	p := &Peer{}
	p.record(addrOf(c))
	return p
}

// addrOf returns the remote address of a connection; the zero value if it is not an IP address.
func addrOf(c net.Conn) netip.Addr {
	if a, isTCP := c.RemoteAddr().(*net.TCPAddr); isTCP {
		return a.AddrPort().Addr()
	}
	return netip.Addr{}
}

// Watch returns a context whose requests record their connections in the peer.
func Watch(ctx context.Context) (context.Context, *Peer) {
	p := &Peer{}
	ctx = context.WithValue(ctx, peerKey{}, p)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			p.record(addrOf(info.Conn))
			if c, encrypted := info.Conn.(*tls.Conn); encrypted {
				deliveries.ReportCertificate(ctx, CertificateExpiry(c.ConnectionState()))
			}
		},
	}), p
}

// CertificateExpiry returns when the certificate of the server of a connection expires.
func CertificateExpiry(c tls.ConnectionState) (t time.Time) {
	if len(c.PeerCertificates) > 0 {
		t = c.PeerCertificates[0].NotAfter
	}
	return t
}
