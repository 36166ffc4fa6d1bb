package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/throttle"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// The maximum number of keys, organizations, client addresses and links that rate limits remember.
const (
	maxKeys          = 10_000
	maxOrganizations = 10_000
	maxAddresses     = 10_000
	maxLinks         = 10_000
)

// linkLimit is the rate limit of one unsubscribe link, per second.
const linkLimit = 10

// guard authenticates, rate limits and authorizes requests, in this order, by the Authorization
// header and the route.
type guard struct {
	auth                 access.Authenticator
	proxies              web.Proxies
	quotas               *quotas.Defaults
	requests             *throttle.Throttle[access.Digest] // by key, of valid keys
	organizationRequests *throttle.Throttle[string]        // by organization slug
	organizationBytes    *throttle.Throttle[string]        // by organization slug
	failureLimit         float64                           // failed authentications per second and client address
	failures             *throttle.Throttle[netip.Prefix]
	links                *throttle.Throttle[[sha256.Size]byte] // by the digests of their tokens

	mu           sync.Mutex
	largeAnswers map[string]int // answers being sent, by organization slug
}

func newGuard(auth access.Authenticator, o Options, clock ports.Clock) *guard {
	return &guard{
		auth: auth, proxies: o.TrustedProxies, quotas: o.Quotas,
		requests:             throttle.New[access.Digest](0, maxKeys, clock.Now),
		organizationRequests: throttle.New[string](0, maxOrganizations, clock.Now),
		organizationBytes:    throttle.New[string](0, maxOrganizations, clock.Now),
		failureLimit:         o.AuthFailureLimit,
		failures:             throttle.New[netip.Prefix](o.AuthFailureLimit, maxAddresses, clock.Now),
		links:                throttle.New[[sha256.Size]byte](linkLimit, maxLinks, clock.Now),
		largeAnswers:         map[string]int{},
	}
}

// admit returns the key of a request if it may use a route with this grant.
func (g *guard) admit(ctx context.Context, c echo.Context, grant access.Grant) (access.Key, error) {
	key, digest, err := g.authenticate(ctx, c)
	if err != nil {
		return access.Key{}, err
	}
	if err := g.count(key, digest, c.Response().Header()); err != nil {
		return access.Key{}, err
	}
	web.Caller(c, "key", key.Name)
	target := access.Scope{Organization: web.Param(c, "org"), Project: web.Param(c, "prj"), Application: web.Param(c, "app")}
	if c.Path() == organizationsPath && key.Scope != (access.Scope{}) {
		return key, access.ErrOutOfScope // Authorize would allow every key, because the path names no organization.
	}
	err = key.Authorize(target, grant)
	if level := key.Scope.Mismatch(target); level != "" && errors.Is(err, access.ErrOutOfScope) {
		err = access.ErrOutOfScope.On(level) // The response must not reveal whether the object exists.
	}
	return key, err
}

// countUnrouted counts a request without a route against the rate limit of its key. It returns an
// error only if the limit is exceeded.
func (g *guard) countUnrouted(ctx context.Context, c echo.Context) error {
	key, digest, err := g.authenticate(ctx, c)
	if err == nil {
		web.Caller(c, "key", key.Name)
		err = g.count(key, digest, c.Response().Header())
	}
	if fault.KindOf(err) == fault.Limited {
		return err
	}
	return nil
}

// authenticate returns the key of a request. It refuses a client address with too many failed
// authentications before any lookup, except for keys that were valid before, because many clients
// may share an address.
func (g *guard) authenticate(ctx context.Context, c echo.Context) (key access.Key, digest access.Digest, err error) {
	r, header := c.Request(), c.Response().Header()
	client := g.proxies.Client(r)
	token, _ := ParseAuthorization(r.Header.Values(echo.HeaderAuthorization))
	digest, err = access.ParseToken(token)
	if err != nil || !g.requests.Knows(digest) {
		if wait := g.failures.Wait(client); wait > 0 {
			addRate(header, quotas.AuthFailures, perRequest, g.failureLimit, 0)
			return key, digest, quotas.Refuse(quotas.AuthFailures, g.failureLimit, wait)
		}
	}
	key, err = g.auth.Authenticate(ctx, token)
	if fault.KindOf(err) == fault.Unauthenticated {
		left, wait := g.failures.TakeAt(client, g.failureLimit)
		addRate(header, quotas.AuthFailures, perRequest, g.failureLimit, left)
		if wait > 0 {
			return key, digest, quotas.Refuse(quotas.AuthFailures, g.failureLimit, wait)
		}
	}
	return key, digest, err
}

// count counts a request against the limits of its key and organization, and sets the rate limit
// headers. Limits are per instance.
func (g *guard) count(key access.Key, digest access.Digest, header http.Header) error {
	limits := g.quotas.With(key.Quotas)
	limit := limits[quotas.Requests]
	left, wait := g.requests.TakeAt(digest, limit)
	addRate(header, quotas.Requests, perRequest, limit, left)
	refusal := quotas.Requests
	if org := key.Scope.Organization; org != "" && wait == 0 {
		limit = limits[quotas.OrganizationRequests]
		left, wait = g.organizationRequests.TakeAt(org, limit)
		addRate(header, quotas.OrganizationRequests, perRequest, limit, left)
		refusal = quotas.OrganizationRequests
	}
	if wait > 0 {
		return quotas.Refuse(refusal, limit, wait)
	}
	return nil
}

// countBody counts the bytes of a body against the limit of the key's organization, and sets the
// rate limit headers.
func (g *guard) countBody(key access.Key, size int, header http.Header) error {
	org, limit := key.Scope.Organization, g.quotas.With(key.Quotas)[quotas.Bodies]
	if org == "" || size == 0 {
		return nil
	}
	left, wait := g.organizationBytes.TakeN(org, limit, size)
	addRate(header, quotas.Bodies, perByte, limit, left)
	if wait > 0 {
		return quotas.Refuse(quotas.Bodies, limit, wait)
	}
	return nil
}

// beginLargeAnswer counts a large answer that is being sent to the key's organization until done,
// or refuses it.
func (g *guard) beginLargeAnswer(key access.Key) (done func(), err error) {
	org := key.Scope.Organization
	if org == "" {
		return func() {}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.quotas.With(key.Quotas).Allows(quotas.LargeAnswers, int64(g.largeAnswers[org])+1, time.Second); err != nil {
		return nil, err
	}
	g.largeAnswers[org]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.largeAnswers[org]--; g.largeAnswers[org] == 0 {
			delete(g.largeAnswers, org)
		}
	}, nil
}

// ParseAuthorization returns the API key in the values of the Authorization header, which must be
// exactly one: the word `Key` in any case, a space and the key. Otherwise ok is false.
func ParseAuthorization(values []string) (token string, ok bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(strings.Trim(values[0], " \t"), " ")
	token = strings.Trim(token, " \t")
	if !ok || !strings.EqualFold(scheme, "Key") || token == "" || strings.ContainsAny(token, " \t") {
		return "", false
	}
	return token, true
}
