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
	Profiles        *app.Members
	Retries         *app.Retries
	Audit           *app.Audit
}

// Options are the settings of the API.
type Options struct {
	// BaseURL is the public address of the installation, such as https://tocsin.example.org, for
	// the URLs in answers. Empty: they are built from each request.
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
	// CallTimeout bounds one call of a use case, which then answers 503. A long list takes many
	// calls. 0: no bound.
	CallTimeout time.Duration
	// QueueTimeout is how long a call may wait for its turn when there are too many at once. 0: no
	// call waits, all start at once.
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
	// Answered counts responses. Nil: they are not counted.
	Answered web.Answered
	// Tracer traces requests. Nil: they are not traced.
	Tracer ports.Tracer
}

// API serves everything below /api/, /healthz and /readyz, and the page of unsubscribe links. It is
// safe for concurrent use.
type API struct {
	use      UseCases
	guard    *guard
	gate     *admission.Gate // of calls with a key; nil: all are let in
	bodies   *room
	shows    map[string]Route // GET of a path
	health   *health.Health
	observer web.Observer
	clock    ports.Clock
	options  Options
	manual   *manual
	errors   *reference.Errors
	page     *page
	echo     *echo.Echo
	handler  http.Handler // echo, with what surrounds it
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
		use: use, health: state, clock: clock, observer: web.NewObserver(clock, log, web.NewOutside(o.BaseURL, o.TrustedProxies), o.Answered).Traced(o.Tracer, healthPath, readyPath), options: o, manual: doc, errors: errorPages, page: html, echo: echo.New(),
		guard: newGuard(auth, o, clock), shows: readers(routes()), bodies: newRoom(o.BodyLimit),
	}
	if o.QueueTimeout > 0 {
		a.gate = admission.New(clock, callsAtOnce, o.QueueTimeout)
	}
	a.echo.Use(a.observer.Around(a.fail), cors(o.CORSOrigins), a.countStrays, web.RefuseOptions)
	for _, r := range append(routes(), documentation()...) {
		a.add(r, a.serving(r))
	}
	a.add(securityText(), a.serving(securityText()))
	for _, r := range pages() {
		a.add(r, a.forPeople(a.serving(r)))
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

// serving wraps a route's handler in the checks that the route table asks for.
func (a *API) serving(r Route) echo.HandlerFunc {
	return a.holdingRefusals(func(c echo.Context) error {
		web.Route(c, r.Path, r.Path == healthPath || r.Path == readyPath) // Probes come every few seconds.
		ctx, cancel := a.limited(c)
		defer cancel()
		in := call{Context: c, api: a, ctx: ctx, shown: a.shows[r.Path].handle != nil, bodies: new(int64)}
		defer a.bodies.give(in.bodies)
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
		}
		// Go drops a query parameter that it cannot parse, and a list would then return more than
		// was asked for.
		if _, err := url.ParseQuery(c.Request().URL.RawQuery); err != nil {
			return fault.Field("query", "cannot be read: a semicolon is written %%3B, and a percent sign %%25")
		}
		if r.open() {
			if err := bindOpen(c); err != nil {
				return err
			}
		}
		return a.perform(in, r)
	})
}

// countStrays counts requests that match no route against the rate of their key, so that every
// response to a key carries its rate limits.
func (a *API) countStrays(next echo.HandlerFunc) echo.HandlerFunc {
	counted := a.holdingRefusals(func(c echo.Context) error {
		ctx, cancel := a.limited(c)
		defer cancel()
		return a.guard.stray(ctx, c)
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

// limited returns a context with the deadline of a call.
func (a *API) limited(c echo.Context) (context.Context, context.CancelFunc) {
	if a.options.CallTimeout > 0 {
		return context.WithTimeout(c.Request().Context(), a.options.CallTimeout)
	}
	return c.Request().Context(), func() {}
}

// holdingRefusals delays the response to a request over its quota. The connection is busy until
// then, so a client that retries at once costs next to nothing.
func (a *API) holdingRefusals(next echo.HandlerFunc) echo.HandlerFunc {
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
