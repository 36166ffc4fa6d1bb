package web

import (
	"net/http"
	"strings"
)

// transportSecurity tells browsers to use https alone for this host, for a year. Other hosts of the
// domain are none of our business.
const transportSecurity = "max-age=31536000"

// Outside is how clients reach the service, as far as its settings and its proxies tell.
type Outside struct {
	https   bool // by the base URL
	proxies Proxies
}

// NewOutside returns what the base URL, which may be empty, and the trusted proxies tell.
func NewOutside(baseURL string, proxies Proxies) Outside {
	return Outside{https: strings.HasPrefix(strings.ToLower(baseURL), "https://"), proxies: proxies}
}

// Secure reports whether the client reaches us by https, as far as we know.
func (o Outside) Secure(r *http.Request) bool { return o.https || o.proxies.Scheme(r) == "https" }
