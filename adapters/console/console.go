// Package console is the web console: server-rendered pages for the operators of an installation.
// It knows paths, forms, cookies and HTML, but no business rules: the use cases and
// domain/operators decide what happens and who may do it.
//
// routes.go is the table of all routes with their requirements; session.go and forms.go
// authenticate and protect forms. Each kind of object has a file with its handlers. A handler
// parses the request, calls a use case, and renders the result as a view. The pages work without
// scripts; the scripts in assets/ only add convenience.
package console

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/sheets"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/throttle"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/app/health"
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/app/pace"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Prefix begins the path of everything that the console serves.
const Prefix = "/console/"

// UseCases are the parts of the application that the console calls.
type UseCases struct {
	Operators      *app.Operators
	Factors        *app.Factors
	SingleSignOn   *app.SingleSignOn
	Administration *app.Administration
	SystemMail     *app.SystemMail
	Members        *app.Members
	Groups         *app.Groups
	Lists          *app.Lists
	Orgs           *app.Orgs
	Applications   *app.Applications
	Occurrences    *app.Occurrences
	Retries        *app.Retries
	SentMessages   *app.SentMessages
	Overviews      *app.Overviews
	System         *app.System
	Audit          *app.Audit
	ImportJobs     *importer.Jobs
	Channels       *app.Channels
	ChannelTests   *app.ChannelTests
	Events         *app.Events
	Templates      *app.Templates
	Mailbox        *app.Mailbox
	Keys           *app.Keys
	Triggers       *app.Triggers
	Subscriptions  *app.Subscriptions
	State          *app.StateCache
}

// Options are the settings of the console.
type Options struct {
	// BaseURL is the public address of the installation. With https, cookies are for https only;
	// its path is the prefix of links. Empty: each request decides.
	BaseURL string
	// BodyLimit is the size of the largest form, in bytes, if it is less than the console's own
	// limit.
	BodyLimit int64
	// TrustedProxies are the addresses whose X-Forwarded-For and X-Forwarded-Proto are trusted.
	TrustedProxies []netip.Prefix
	// CallTimeout bounds the time for a page; beyond it the answer is 503. 0: no bound.
	CallTimeout time.Duration
	// Secret is the source of the keys for sealed links, the same on every instance. Empty: only
	// this process can read its links.
	Secret []byte
	// WriteTimeout is how long a browser may take to read one chunk of a download before it is
	// disconnected. 0: no bound.
	WriteTimeout time.Duration
	// LatestChecks returns the latest results of this instance's health checks and waits at most a
	// moment for them. Nil: pages do not show them.
	LatestChecks func(ctx context.Context) []health.Check
	// OnResponse counts responses. Nil: they are not counted.
	OnResponse web.ResponseObserver
	// Tracer traces requests. Nil: they are not traced.
	Tracer ports.Tracer
}

// The rate limit of password attempts from one network, for any username. Browsers that have signed
// in before are exempt. domain/operators limits wrong passwords of one username.
const (
	signInBurst         = 5
	signInInterval      = 6 * time.Second
	maxThrottledClients = 10_000
	// siteBits is the prefix of a site, to which providers assign many networks of IPv6. Its
	// networks together have the rate limit of siteNetworks networks.
	siteBits     = 48
	siteNetworks = 16
)

// Console serves everything below Prefix. It is safe for concurrent use.
type Console struct {
	use             UseCases
	observer        web.Observer
	outages         *pace.Sampler // of the requests that are logged because they could not be served
	clock           ports.Clock
	options         Options
	root            string // the path of the base URL, without a slash at its end
	proxies         web.Proxies
	transport       web.Transport
	origin          *http.CrossOriginProtection
	attempts        *throttle.Throttle[netip.Prefix] // to sign in
	siteAttempts    *throttle.Throttle[netip.Prefix] // to sign in, of sites
	passkeyRequests *throttle.Throttle[netip.Prefix] // for passkeys before signing in
	signOnVisits    *throttle.Throttle[netip.Prefix] // redirects to the provider of single sign-on and back
	logouts         *throttle.Throttle[netip.Prefix] // requests of the provider to end sessions
	invitationMails *throttle.Throttle[string]       // mailed invitations of an organization
	memberMails     *throttle.Throttle[users.MemberID]
	cursors         cursors
	sheets          *sheets.Opener // of imported files
	assets          assets
	echo            *echo.Echo
}

var _ http.Handler = (*Console)(nil)

// New returns the console over these use cases. It fails when an embedded page is broken or the
// base URL is invalid.
func New(use UseCases, clock ports.Clock, log *slog.Logger, o Options) (*Console, error) {
	if _, err := offeredLanguages[0](); err != nil {
		return nil, err
	}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimRight(o.BaseURL, "/"))
	if err != nil {
		return nil, err
	}
	sealed, err := newCursors(o.Secret)
	if err != nil {
		return nil, err
	}
	transport := web.NewTransport(o.BaseURL, o.TrustedProxies)
	c := &Console{
		use: use, observer: web.NewObserver(clock, log, transport, o.OnResponse).Traced(o.Tracer), outages: pace.NewSampler(web.MaxUnavailable), clock: clock, options: o, root: base.EscapedPath(), proxies: o.TrustedProxies, transport: transport,
		cursors: sealed, sheets: sheets.NewOpener(), assets: files, echo: echo.New(),
		origin:          http.NewCrossOriginProtection(),
		signOnVisits:    throttle.NewBurst[netip.Prefix](signOnRate, signOnBurst, maxThrottledClients, clock.Now),
		logouts:         throttle.NewBurst[netip.Prefix](logoutRate, logoutBurst, maxThrottledClients, clock.Now),
		attempts:        throttle.NewBurst[netip.Prefix](1/signInInterval.Seconds(), signInBurst, maxThrottledClients, clock.Now),
		siteAttempts:    throttle.NewBurst[netip.Prefix](siteNetworks/signInInterval.Seconds(), siteNetworks*signInBurst, maxThrottledClients, clock.Now),
		passkeyRequests: throttle.NewBurst[netip.Prefix](1/passkeyInterval.Seconds(), passkeyBurst, maxThrottledClients, clock.Now),
	}
	c.invitationMails = throttle.NewBurst[string](1/mailInterval.Seconds(), mailBurst, maxThrottledClients, clock.Now)
	c.memberMails = throttle.NewBurst[users.MemberID](1/memberMailInterval.Seconds(), memberMailBurst, maxThrottledClients, clock.Now)
	if base.Host != "" { // A proxy may send another Host.
		if err := c.origin.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
			return nil, err
		}
	}
	c.echo.Use(c.observer.Middleware(c.fail), c.secureHeaders, web.RefuseOptions)
	for _, r := range Routes() {
		c.echo.Add(r.Method, r.pattern(), c.handler(r))
		if r.Method == http.MethodGet {
			c.echo.Add(http.MethodHead, r.pattern(), c.handler(r))
		}
	}
	home := func(e echo.Context) error {
		web.Route(e, "/", false)
		return call{Context: e, console: c}.redirect(c.root + Prefix)
	}
	c.echo.GET("/", home)
	c.echo.HEAD("/", home)
	return c, nil
}

// ServeHTTP answers one request below Prefix, or GET of /, which redirects there.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.echo.ServeHTTP(w, web.Canonical(r))
}

// policy is the Content-Security-Policy of the pages: our own scripts, style sheets and frames, no
// other host, nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// sandboxPolicy is the policy for untrusted HTML, such as that of a message. It allows inline
// styles, but no scripts, no requests and no forms, and gives the document an opaque origin. Only
// pages of the console may frame it.
const sandboxPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// secureHeaders sets the security headers of all pages. The Referrer-Policy is not "no-referrer" as
// in the API, because browsers would then send `Origin: null` with forms.
func (c *Console) secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		h := e.Response().Header()
		h.Set(echo.HeaderContentSecurityPolicy, policy)
		h.Set(echo.HeaderXFrameOptions, "DENY")
		h.Set(echo.HeaderReferrerPolicy, "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		return next(e)
	}
}

// call is the context of one request.
type call struct {
	echo.Context
	console  *Console
	ctx      context.Context // for use cases: ends with the request or at the deadline of the call
	operator operators.Principal
	token    string // of the session, or of the visit before signing in
	state    installation.State
	file     *upload // of the form; nil: it has none
	frame    *frame  // the frame of the page; nil: the operator may not see it
}

// callKey is the context key of an authenticated call, for error pages.
const callKey = "tocsin.console.call"

// handler wraps a route's handler with the checks of the route table: authentication, form token,
// authorization, required second factor and recent sign-in.
func (c *Console) handler(r Route) echo.HandlerFunc {
	return func(e echo.Context) error {
		web.Route(e, r.Path, false)
		in := call{Context: e, console: c, ctx: e.Request().Context()}
		if c.options.CallTimeout > 0 {
			limited, cancel := context.WithTimeout(in.ctx, c.options.CallTimeout)
			defer cancel()
			in.ctx = limited
		}
		if err := in.authenticate(); err != nil {
			return err
		}
		if state, err := c.use.State.State(in.ctx); err == nil { // Otherwise the page shows that the database is unavailable.
			in.state = state
		}
		e.Set(callKey, in)
		if r.Needs != operators.Everyone && in.operator.User.ID == 0 {
			return in.redirectToSignIn()
		}
		if r.Machine {
			if err := in.readForm(maxMachineForm); err != nil {
				return err
			}
		} else if err := in.checkForm(r.largestForm()); err != nil {
			return err
		}
		if err := in.operator.Authorize(web.Param(e, "org"), r.Needs); err != nil {
			return err
		}
		in.ctx = ports.ForOrganization(in.ctx, web.Param(e, "org"))
		owed, err := c.use.Factors.SetupRequired(in.ctx, in.operator, r.Factor, web.Param(e, "org"))
		if err != nil {
			return err
		}
		if owed {
			return in.redirectToFactors()
		}
		if err := c.use.Operators.RecordVisit(in.ctx, in.operator, web.Param(e, "org")); err != nil {
			return err
		}
		if r.Needs != operators.Everyone {
			in.frame = &frame{}
			e.Set(callKey, in)
		}
		if r.Recent {
			if answered, err := in.confirm(); answered || err != nil {
				return err
			}
		}
		if err := web.ReadIDs(e, idParameters...); err != nil {
			return err
		}
		return r.handle(in)
	}
}

// at returns the place in the tenancy that the path names.
func (c call) at() app.Path {
	return app.Path{Organization: web.Param(c, "org"), Project: web.Param(c, "prj"), Application: web.Param(c, "app")}
}

// actor returns the actor of the request, for the audit log.
func (c call) actor() audit.Actor {
	return audit.Actor{Name: c.operator.User.Username, Address: c.address(), Via: audit.Console}
}

func (c call) address() string { return c.console.proxies.Address(c.Request()) }

// client returns the network of the client, for rate limits.
func (c call) client() netip.Prefix { return c.console.proxies.Client(c.Request()) }

// editor returns the actor with their rights over members of the path's organization.
func (c call) editor() operators.Editor {
	return operators.Editor{Actor: c.actor(), Level: c.operator.Level(web.Param(c, "org"))}
}
