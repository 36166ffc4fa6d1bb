package web

import (
	"net/http"
	"strings"
)

// transportSecurity tells browsers to use only https for this host, for a year. It does not cover
// other hosts of the domain.
const transportSecurity = "max-age=31536000"

// Outside is how clients reach the service, according to its settings and proxies.
type Outside struct {
	https   bool // by the base URL
	proxies Proxies
}

// NewOutside returns what the base URL, which may be empty, and the trusted proxies imply.
func NewOutside(baseURL string, proxies Proxies) Outside {
	return Outside{https: strings.HasPrefix(strings.ToLower(baseURL), "https://"), proxies: proxies}
}

// Secure reports whether the client uses https, as far as is known.
func (o Outside) Secure(r *http.Request) bool { return o.https || o.proxies.Scheme(r) == "https" }
