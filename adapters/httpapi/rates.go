package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/tocsin/tocsin/domain/quotas"
)

// The headers of draft-ietf-httpapi-ratelimit-headers.
const (
	headerRateLimit       = "RateLimit"
	headerRateLimitPolicy = "RateLimit-Policy"
)

// rateHeaders are what an answer says of the rates that its request counts for.
type rateHeaders struct{ policies, states []string }

// add tells of a quota of so many requests a second, of which so many are left. 0 is no limit, of which nothing is told.
func (h *rateHeaders) add(n quotas.Name, perSecond float64, left int) {
	if perSecond <= 0 {
		return
	}
	requests, seconds := math.Floor(perSecond), 1.0
	if perSecond < 1 { // Both are whole numbers.
		requests, seconds = 1, math.Ceil(1/perSecond)
	}
	h.policies = append(h.policies, fmt.Sprintf("%q;q=%.0f;w=%.0f", string(n), requests, seconds))
	h.states = append(h.states, fmt.Sprintf("%q;r=%d;t=%.0f", string(n), left, seconds))
}

func (h *rateHeaders) set(header http.Header) {
	if len(h.policies) > 0 {
		header.Set(headerRateLimitPolicy, strings.Join(h.policies, ", "))
		header.Set(headerRateLimit, strings.Join(h.states, ", "))
	}
}
