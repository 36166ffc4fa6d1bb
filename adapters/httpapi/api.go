// Package httpapi is the HTTP API (contract 4, decisions 1 and 2). It turns requests into calls of
// use cases and their results into responses. It knows paths, headers, JSON and status codes, and
// no business rule.
//
// routes.go is the table of all routes, errors.go maps errors to responses, and each noun has a
// file with its handlers, which do four things: bind, call, map, write.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/reference"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/admission"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// UseCases are the parts of the application that the API calls.
type UseCases struct {
	Users         *app.Users
	Lists         *app.Lists
	Applications  *app.Applications
	Subscriptions *app.Subscriptions
	Orgs          *app.Orgs
	Triggers      *app.Triggers
	Occurrences   *app.Occurrences
	Requests      *app.Requests

	Unsubscriptions *app.Unsubscriptions
	Provisioning    *app.Provisioning
	Events          *app.Events
	Templates       *app.Templates
	Channels        *app.Channels
	ChannelTests    *app.ChannelTests
	Groups          *app.Groups
	Keys            *app.Keys
	Administration  *app.Administration
	Members         *app.Members
	Retries         *app.Retries
	Audit           *app.Audit
}

// Options are the settings of the API.
type Options struct {
	// BaseURL is the public address of the installation, such as https://tocsin.example.org, for
	// the URLs in responses. Empty: they are built from each request.
	BaseURL string
	// BodyLimit is the size of the largest request body, in bytes.
	BodyLimit int64
	// Quotas are the requests per second of an organization that has no limits of its own.
	Quotas *quotas.Defaults
	// AuthFailureLimit is how many authentications per second may fail from one client address. 0:
	// no limit.
	AuthFailureLimit float64
	// TrustedProxies are the addresses whose X-Forwarded-For and X-Forwarded-Proto are trusted.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose pages may use the API, such as https://app.example.org.
	// Empty: none.
	CORSOrigins []string
	// CallTimeout is the timeout of one call of a use case; beyond it the response is 503. A long
	// list takes many calls. 0: no timeout.
	CallTimeout time.Duration
	// QueueTimeout is how long a call may wait if there are too many concurrent calls. 0: calls are
	// not limited.
	QueueTimeout time.Duration
	// WriteTimeout is how long a client may take to read one chunk of a list before it is
	// disconnected. 0: no bound.
	WriteTimeout time.Duration
	// SecurityContact are the URIs for reports of vulnerabilities, for security.txt. Empty: that
	// file does not exist.
	SecurityContact []string
	// SecurityPolicy is the URL of the policy for such reports. Empty: none.
	SecurityPolicy string
	// RefusalDelay is how long a request over its rate limit waits for the refusal, so that
	// retrying at once gains nothing.
	RefusalDelay time.Duration
	// OnResponse counts responses. Nil: they are not counted.
	OnResponse web.ResponseObserver
	// Tracer traces requests. Nil: they are not traced.
	Tracer ports.Tracer
}

// API serves everything below /api/, /healthz and /readyz, and the page of unsubscribe links. It is
// safe for concurrent use.
type API struct {
	use        UseCases
	guard      *guard
	gate       *admission.Gate // limits calls with a key; nil: no limit
	bodyMemory *memoryBudget
	readable   map[string]Route // the GET routes by path
	health     *health.Health
	observer   web.Observer
	outages    *pace.Sampler // of the calls that are logged because they could not be served
	unready    unready
	clock      ports.Clock
	options    Options
	docs       *docPages
	errors     *reference.Errors
	page       *page
	echo       *echo.Echo
	handler    http.Handler // echo with compression
}

var _ http.Handler = (*API)(nil)

// New returns the API over these use cases. It fails only when the embedded document or page is
// broken.
func New(use UseCases, auth access.Authenticator, state *health.Health, clock ports.Clock, log *slog.Logger, o Options) (*API, error) {
	doc, err := loadReference()
	if err != nil {
		return nil, err
	}
	errorPages, err := loadErrors()
	if err != nil {
		return nil, err
	}
	html, err := newPage()
	if err != nil {
		return nil, err
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	a := &API{
		use: use, health: state, clock: clock, observer: web.NewObserver(clock, log, web.NewTransport(o.BaseURL, o.TrustedProxies), o.OnResponse).Traced(o.Tracer, healthPath, readyPath), options: o, docs: doc, errors: errorPages, page: html, echo: echo.New(),
		guard: newGuard(auth, o, clock), readable: readableRoutes(routes()), bodyMemory: newMemoryBudget(o.BodyLimit),
		outages: pace.NewSampler(web.MaxUnavailable), unready: unready{some: pace.NewSampler(web.MaxUnavailable)},
	}
	if o.QueueTimeout > 0 {
		a.gate = admission.New(clock, maxConcurrentCalls, o.QueueTimeout)
	}
	a.echo.Use(a.observer.Middleware(a.fail), cors(o.CORSOrigins), a.countUnrouted, web.RefuseOptions)
	for _, r := range append(routes(), documentation()...) {
		a.add(r, a.wrap(r))
	}
	a.add(securityText(), a.wrap(securityText()))
	for _, r := range pages() {
		a.add(r, a.asHTML(a.wrap(r)))
	}
	if a.handler, err = compressed(a.echo); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *API) add(r Route, handler echo.HandlerFunc) {
	a.echo.Add(r.Method, r.pattern(), handler)
	if r.Method == http.MethodGet {
		a.echo.Add(http.MethodHead, r.pattern(), handler)
	}
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.handler.ServeHTTP(w, web.Canonical(r))
}

// wrap wraps a route's handler with the checks of the route table.
func (a *API) wrap(r Route) echo.HandlerFunc {
	return a.delayRefusals(func(c echo.Context) error {
		web.Route(c, r.Path, r.Path == healthPath || r.Path == readyPath) // Probes are frequent.
		ctx, cancel := a.withTimeout(c.Request().Context())
		defer cancel()
		in := call{Context: c, api: a, ctx: ctx, hasETag: a.readable[r.Path].handle != nil, reserved: &reservation{}}
		defer a.bodyMemory.release(in.reserved)
		if r.Grant != "" {
			leave, err := in.enter()
			if err != nil {
				return err
			}
			defer leave()
			key, err := a.guard.admit(in.ctx, c, r.Grant)
			if err != nil {
				return err
			}
			in.key = key
			if err := in.claimPlace(); err != nil {
				return err
			}
			in.ctx = ports.ForOrganization(in.ctx, in.organization())
		}
		// net/url drops parameters that it cannot parse, and a list would return more than
		// requested.
		if _, err := url.ParseQuery(c.Request().URL.RawQuery); err != nil {
			return fault.Field("query", "cannot be read: a semicolon is written %%3B, and a percent sign %%25")
		}
		if r.open() {
			if err := bindOpenParameter(c); err != nil {
				return err
			}
		}
		return a.perform(in, r)
	})
}

// countUnrouted counts requests without a route against the rate limit of their key, so that every
// response to a key has the rate limit headers.
func (a *API) countUnrouted(next echo.HandlerFunc) echo.HandlerFunc {
	counted := a.delayRefusals(func(c echo.Context) error {
		ctx, cancel := a.withTimeout(c.Request().Context())
		defer cancel()
		return a.guard.countUnrouted(ctx, c)
	})
	return func(c echo.Context) error {
		err := next(c)
		if _, stray := errors.AsType[*echo.HTTPError](err); !stray || c.Request().Header.Get(echo.HeaderAuthorization) == "" {
			return err
		}
		if refusal := counted(c); refusal != nil {
			return refusal
		}
		return err
	}
}

// withTimeout returns a context with the timeout of one call.
func (a *API) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if timeout := a.options.CallTimeout; timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {}
}

// delayRefusals delays the response to a request over its quota, so that a client that retries at
// once is slowed down.
func (a *API) delayRefusals(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if a.options.RefusalDelay > 0 && fault.KindOf(err) == fault.Limited {
			held, cancel := context.WithTimeout(c.Request().Context(), a.options.RefusalDelay)
			defer cancel()
			<-held.Done()
		}
		return err
	}
}
