package httpapi

import (
	"fmt"
	"math"
	"net/http"

	"github.com/tocsin/tocsin/domain/quotas"
)

// The headers of draft-ietf-httpapi-ratelimit-headers.
const (
	headerRateLimit       = "RateLimit"
	headerRateLimitPolicy = "RateLimit-Policy"
)

// unit is the unit of a rate: the parameter qu of the header.
type unit string

const (
	perRequest unit = ""                    // requests, the default
	perByte    unit = `;qu="content-bytes"` // bytes of bodies
)

// addRate adds a rate limit to the headers of a response: the limit per second, and how much of it
// is left. If perSecond is 0, there is no limit and it adds nothing.
func addRate(header http.Header, n quotas.Name, of unit, perSecond float64, left int) {
	if perSecond <= 0 {
		return
	}
	amount, seconds := math.Floor(perSecond), 1.0
	if perSecond < 1 { // Headers take whole numbers only.
		amount, seconds = 1, math.Ceil(1/perSecond)
	}
	appendHeader(header, headerRateLimitPolicy, fmt.Sprintf("%q;q=%.0f%s;w=%.0f", string(n), amount, of, seconds))
	appendHeader(header, headerRateLimit, fmt.Sprintf("%q;r=%d;t=%.0f", string(n), left, seconds))
}

// appendHeader adds an entry to a list header.
func appendHeader(header http.Header, name, entry string) {
	if before := header.Get(name); before != "" {
		entry = before + ", " + entry
	}
	header.Set(name, entry)
}
