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

// unit is what a rate counts, as the parameter qu says it.
type unit string

const (
	perRequest unit = ""                    // requests, which need not be said
	perByte    unit = `;qu="content-bytes"` // bytes of bodies
)

// tellRate adds to an answer a rate that its request counts for: so much a second, of which so much
// is left. 0 is no limit, of which nothing is told.
func tellRate(header http.Header, n quotas.Name, of unit, perSecond float64, left int) {
	if perSecond <= 0 {
		return
	}
	amount, seconds := math.Floor(perSecond), 1.0
	if perSecond < 1 { // Both are whole numbers.
		amount, seconds = 1, math.Ceil(1/perSecond)
	}
	extend(header, headerRateLimitPolicy, fmt.Sprintf("%q;q=%.0f%s;w=%.0f", string(n), amount, of, seconds))
	extend(header, headerRateLimit, fmt.Sprintf("%q;r=%d;t=%.0f", string(n), left, seconds))
}

// extend adds an entry to a header that is a list.
func extend(header http.Header, name, entry string) {
	if before := header.Get(name); before != "" {
		entry = before + ", " + entry
	}
	header.Set(name, entry)
}
