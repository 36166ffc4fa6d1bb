package web

import (
	"net/http"
	"strings"
)

// transportSecurity tells browsers to use only https for this host, for a year. It does not cover
// other hosts of the domain.
const transportSecurity = "max-age=31536000"

// Transport knows whether clients reach the service by https, from its settings and proxies.
type Transport struct {
	https   bool // by the base URL
	proxies Proxies
}

// NewTransport returns the transport for a base URL, which may be empty, and trusted proxies.
func NewTransport(baseURL string, proxies Proxies) Transport {
	return Transport{https: strings.HasPrefix(strings.ToLower(baseURL), "https://"), proxies: proxies}
}

// Secure reports whether the client uses https, as far as known.
func (o Transport) Secure(r *http.Request) bool { return o.https || o.proxies.Scheme(r) == "https" }
