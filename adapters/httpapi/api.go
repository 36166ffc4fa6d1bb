// Package httpapi is the HTTP API (contract 4, decisions 1 and 2). It turns requests into calls of use cases and their
// results into answers: it knows paths, headers, JSON and statuses, and refuses to know why a use case says no.
//
// routes.go is the table of all routes, errors.go turns faults into answers, and each noun has a file with its handlers,
// which do four things: bind, call, map, write.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/reference"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
	"github.com/tocsin/tocsin/ports"
)

// UseCases are the parts of the application that the API reaches.
type UseCases struct {
	Users         *app.Users
	Lists         *app.Lists
	Applications  *app.Applications
	Subscriptions *app.Subscriptions
	Orgs          *app.Orgs
	Triggers      *app.Triggers
	Occurrences   *app.Occurrences

	Unsubscriptions *app.Unsubscriptions
}

// Options are the settings of the API.
type Options struct {
	// BaseURL is the public address of the installation, such as https://tocsin.example.org, for the URLs in
	// answers. Empty: they are built from each request.
	BaseURL string
	// BodyLimit is the size of the largest request body, in bytes.
	BodyLimit int64
	// Quotas are the limits of requests per second, where an organization has none of its own.
	Quotas quotas.Limits
	// AuthFailureLimit is how many authentications per second may fail from one client address. 0: no limit.
	AuthFailureLimit float64
	// TrustedProxies are the addresses whose X-Forwarded-For and X-Forwarded-Proto are believed.
	TrustedProxies []netip.Prefix
	// CallTimeout bounds one call of a use case, which then answers 503; a long list is many calls. 0: no bound.
	CallTimeout time.Duration
	// WriteTimeout is how long a client may take to read one stretch of a list before it is cut off. 0: no bound.
	WriteTimeout time.Duration
	// SecurityContact are the URIs by which vulnerabilities are reported, for security.txt. Empty: there is no such file.
	SecurityContact []string
	// SecurityPolicy is the URL of the page about such reports; empty: none.
	SecurityPolicy string
	// RefusalDelay is how long a request that is over a rate waits for its refusal, so that asking again at once gains nothing.
	RefusalDelay time.Duration
	// Answered counts what was answered. Nil: nobody does.
	Answered web.Answered
}

// API serves everything below /api/, /healthz and /readyz, and the page behind unsubscribe links. It is safe for concurrent use.
type API struct {
	use       UseCases
	guard     *guard
	health    *health.Health
	observer  web.Observer
	clock     ports.Clock
	options   Options
	reference *reference.Reference
	page      *page
	echo      *echo.Echo
}

var _ http.Handler = (*API)(nil)

// New returns the API over these use cases. It fails only when the document or the page that is built in is broken.
func New(use UseCases, auth access.Authenticator, state *health.Health, clock ports.Clock, log *slog.Logger, o Options) (*API, error) {
	doc, err := loadReference()
	if err != nil {
		return nil, err
	}
	html, err := newPage()
	if err != nil {
		return nil, err
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	a := &API{
		use: use, health: state, clock: clock, observer: web.NewObserver(clock, log, web.NewOutside(o.BaseURL, o.TrustedProxies), o.Answered), options: o, reference: doc, page: html, echo: echo.New(),
		guard: newGuard(auth, o, clock),
	}
	a.echo.Use(a.observer.Around(a.fail), web.RefuseOptions)
	for _, r := range routes() {
		a.add(r, a.handler(r))
	}
	a.add(securityText(), a.handler(securityText()))
	for _, r := range pages() {
		a.add(r, a.forPeople(a.handler(r)))
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
	a.echo.ServeHTTP(w, web.Canonical(r))
}

// handler wraps a route's handler in the checks that the table asks for.
func (a *API) handler(r Route) echo.HandlerFunc {
	return a.holdingRefusals(func(c echo.Context) error {
		web.Route(c, r.Path, r.Path == healthPath || r.Path == readyPath) // Probes come every few seconds.
		if r.open() {
			if err := bindOpen(c); err != nil {
				return err
			}
		}
		in := call{Context: c, api: a, ctx: c.Request().Context()}
		if a.options.CallTimeout > 0 {
			limited, cancel := context.WithTimeout(in.ctx, a.options.CallTimeout)
			defer cancel()
			in.ctx = limited
		}
		if r.Grant != "" {
			key, err := a.guard.admit(in.ctx, c, r.Grant)
			if err != nil {
				return err
			}
			in.key = key
		}
		return r.handle(a, in)
	})
}

// holdingRefusals holds the answer to a request that is over a quota for a while. The connection is
// busy until then, so that a client that asks again as soon as it is refused costs next to nothing.
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
