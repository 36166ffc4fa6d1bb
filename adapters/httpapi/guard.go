package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/throttle"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// How many keys, organizations, client addresses and links are remembered for their limits.
const (
	roomForKeys          = 10_000
	roomForOrganizations = 10_000
	roomForAddresses     = 10_000
	roomForLinks         = 10_000
)

// linkLimit is how often per second one unsubscribe link may be used.
const linkLimit = 10

// guard admits requests: 401, 429, then 403, from the route and the Authorization header alone.
type guard struct {
	auth     access.Authenticator
	proxies  web.Proxies
	quotas   *quotas.Defaults
	requests *throttle.Throttle[access.Digest] // of keys that were valid at their last request
	together *throttle.Throttle[string]        // requests of all keys of an organization, by its slug
	bodies   *throttle.Throttle[string]        // bytes of bodies of all keys of an organization, by its slug
	most     float64                           // failed authentications a second of a client address
	failures *throttle.Throttle[netip.Prefix]
	links    *throttle.Throttle[[sha256.Size]byte] // by the digests of their tokens
}

func newGuard(auth access.Authenticator, o Options, clock ports.Clock) *guard {
	return &guard{
		auth: auth, proxies: o.TrustedProxies, quotas: o.Quotas,
		requests: throttle.New[access.Digest](0, roomForKeys, clock.Now),
		together: throttle.New[string](0, roomForOrganizations, clock.Now),
		bodies:   throttle.New[string](0, roomForOrganizations, clock.Now),
		most:     o.AuthFailureLimit,
		failures: throttle.New[netip.Prefix](o.AuthFailureLimit, roomForAddresses, clock.Now),
		links:    throttle.New[[sha256.Size]byte](linkLimit, roomForLinks, clock.Now),
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
		return key, access.ErrOutOfScope // Every key covers a path that names no organization.
	}
	err = key.Authorize(target, grant)
	if level := key.Scope.Mismatch(target); level != "" && errors.Is(err, access.ErrOutOfScope) {
		err = access.ErrOutOfScope.On(level) // The key's scope and the path decide, whether it exists or not.
	}
	return key, err
}

// stray counts a request that matches no route against its key, and returns the refusal if there
// are too many. Without a valid key it refuses nothing: there is nothing to gain.
func (g *guard) stray(ctx context.Context, c echo.Context) error {
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

// authenticate finds the key of a request. A client address with too many failed authentications is
// refused before any lookup, except for keys that were valid before: behind a proxy many clients
// share an address.
func (g *guard) authenticate(ctx context.Context, c echo.Context) (key access.Key, digest access.Digest, err error) {
	r, header := c.Request(), c.Response().Header()
	client := g.proxies.Client(r)
	token, _ := ParseAuthorization(r.Header.Values(echo.HeaderAuthorization))
	digest, err = access.ParseToken(token)
	if err != nil || !g.requests.Knows(digest) {
		if wait := g.failures.Wait(client); wait > 0 {
			addRate(header, quotas.AuthFailures, perRequest, g.most, 0)
			return key, digest, quotas.Refuse(quotas.AuthFailures, g.most, wait)
		}
	}
	key, err = g.auth.Authenticate(ctx, token)
	if fault.KindOf(err) == fault.Unauthenticated {
		left, wait := g.failures.TakeAt(client, g.most)
		addRate(header, quotas.AuthFailures, perRequest, g.most, left)
		if wait > 0 {
			return key, digest, quotas.Refuse(quotas.AuthFailures, g.most, wait)
		}
	}
	return key, digest, err
}

// count counts a request against its key and the key's organization, and reports the rest in the
// header. It counts the requests of this instance only.
func (g *guard) count(key access.Key, digest access.Digest, header http.Header) error {
	limits := g.quotas.With(key.Quotas)
	limit := limits[quotas.Requests]
	left, wait := g.requests.TakeAt(digest, limit)
	addRate(header, quotas.Requests, perRequest, limit, left)
	refusal := quotas.Requests
	if org := key.Scope.Organization; org != "" && wait == 0 {
		limit = limits[quotas.OrganizationRequests]
		left, wait = g.together.TakeAt(org, limit)
		addRate(header, quotas.OrganizationRequests, perRequest, limit, left)
		refusal = quotas.OrganizationRequests
	}
	if wait > 0 {
		return quotas.Refuse(refusal, limit, wait)
	}
	return nil
}

// countBody counts the bytes of a body against the key's organization, and reports the rest in the
// header.
func (g *guard) countBody(key access.Key, size int, header http.Header) error {
	org, limit := key.Scope.Organization, g.quotas.With(key.Quotas)[quotas.Bodies]
	if org == "" || size == 0 {
		return nil
	}
	left, wait := g.bodies.TakeN(org, limit, size)
	addRate(header, quotas.Bodies, perByte, limit, left)
	if wait > 0 {
		return quotas.Refuse(quotas.Bodies, limit, wait)
	}
	return nil
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
