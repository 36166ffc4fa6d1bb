// Package console is the web console: pages, made on the server, for the people who look after an
// installation. It knows paths, forms, cookies and HTML, and refuses to know any rule: what
// happens, and who may have it happen, the use cases and domain/operators say.
//
// routes.go is the table of all routes with what each needs; session.go and forms.go keep strangers
// out; each noun has a file with its handlers, which bind, call, map to what a page shows, and
// render. The pages work without any script; the few of assets/ make them pleasanter.
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
	"github.com/tocsin/tocsin/app/importer"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/users"
	"github.com/tocsin/tocsin/ports"
)

// Prefix begins the path of everything that the console serves.
const Prefix = "/console/"

// UseCases are the parts of the application that the console reaches.
type UseCases struct {
	Operators      *app.Operators
	Factors        *app.Factors
	SingleSignOn   *app.SingleSignOn
	Administration *app.Administration
	SystemMail     *app.SystemMail
	Profiles       *app.Profiles
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
	Standing       *app.Standing
}

// Options are the settings of the console.
type Options struct {
	// BaseURL is the public address of the installation. When it is https, cookies are for https
	// alone; its path stands before those of links. Empty: each request tells.
	BaseURL string
	// BodyLimit is the size of the largest form, in bytes, where it is less than what the console
	// allows itself.
	BodyLimit int64
	// TrustedProxies are the addresses whose X-Forwarded-For and X-Forwarded-Proto are believed.
	TrustedProxies []netip.Prefix
	// CallTimeout bounds how long a page may take, which then is 503. 0: no bound.
	CallTimeout time.Duration
	// Secret is what the keys of sealed links are derived from, the same on every instance. Empty:
	// only this process reads its links.
	Secret []byte
	// WriteTimeout is how long a browser may take to read one chunk of a download before it is cut
	// off. 0: no bound.
	WriteTimeout time.Duration
	// Answered counts what was answered. Nil: nobody does.
	Answered web.Answered
	// Tracer traces requests. Nil: nobody does.
	Tracer ports.Tracer
}

// From one network so many passwords may be tried at once, for whichever usernames, and then one
// every so many seconds. Who has signed in before in the same browser is not held up. How often one
// username's may be wrong domain/operators says.
const (
	signInBurst    = 5
	signInInterval = 6 * time.Second
	roomForClients = 10_000
)

// Console serves everything below Prefix. It is safe for concurrent use.
type Console struct {
	use      UseCases
	observer web.Observer
	clock    ports.Clock
	options  Options
	root     string // the path of the base URL, without a slash at its end
	proxies  web.Proxies
	outside  web.Outside
	origin   *http.CrossOriginProtection
	attempts *throttle.Throttle[netip.Prefix] // to sign in
	asks     *throttle.Throttle[netip.Prefix] // for the passkeys of strangers
	visits   *throttle.Throttle[netip.Prefix] // to the provider of single sign-on, and from it
	mails    *throttle.Throttle[string]       // invitations of an organization that are mailed
	mailsTo  *throttle.Throttle[users.MemberID]
	cursors  cursors
	tongues  []tongue       // that are offered, English first
	sheets   *sheets.Opener // of files that are imported
	assets   assets
	echo     *echo.Echo
}

var _ http.Handler = (*Console)(nil)

// New returns the console over these use cases. It fails when a page that is built in is broken or
// the base URL is none.
func New(use UseCases, clock ports.Clock, log *slog.Logger, o Options) (*Console, error) {
	spoken, err := tongues()
	if err != nil {
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
	outside := web.NewOutside(o.BaseURL, o.TrustedProxies)
	c := &Console{
		use: use, observer: web.NewObserver(clock, log, outside, o.Answered).Traced(o.Tracer), clock: clock, options: o, root: base.EscapedPath(), proxies: o.TrustedProxies, outside: outside,
		cursors: sealed, tongues: spoken, sheets: sheets.NewOpener(), assets: files, echo: echo.New(),
		origin:   http.NewCrossOriginProtection(),
		visits:   throttle.NewBurst[netip.Prefix](visitRate, visitBurst, roomForClients, clock.Now),
		attempts: throttle.NewBurst[netip.Prefix](1/signInInterval.Seconds(), signInBurst, roomForClients, clock.Now),
		asks:     throttle.NewBurst[netip.Prefix](1/askInterval.Seconds(), askBurst, roomForClients, clock.Now),
	}
	c.mails = throttle.NewBurst[string](1/mailInterval.Seconds(), mailBurst, roomForClients, clock.Now)
	c.mailsTo = throttle.NewBurst[users.MemberID](1/memberMailInterval.Seconds(), memberMailBurst, roomForClients, clock.Now)
	if base.Host != "" { // A proxy may send another Host.
		if err := c.origin.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
			return nil, err
		}
	}
	c.echo.Use(c.observer.Around(c.fail), c.harden, web.RefuseOptions)
	for _, r := range Routes() {
		c.echo.Add(r.Method, r.pattern(), c.handler(r))
		if r.Method == http.MethodGet {
			c.echo.Add(http.MethodHead, r.pattern(), c.handler(r))
		}
	}
	home := func(e echo.Context) error {
		web.Route(e, "/", false)
		return call{Context: e, console: c}.to(c.root + Prefix)
	}
	c.echo.GET("/", home)
	c.echo.HEAD("/", home)
	return c, nil
}

// ServeHTTP answers one request: of what is below Prefix, and GET of /, which leads there.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.echo.ServeHTTP(w, web.Canonical(r))
}

// policy is the Content-Security-Policy of the pages: scripts, style sheets and frames of ours, no
// other host, nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// foreignPolicy is that of what others wrote, such as the HTML of a message: it looks as they like,
// but runs nothing, loads nothing from anywhere, sends no form, and is a stranger to our pages, the
// only ones that may show it in a frame.
const foreignPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// harden tells browsers what pages of ours never do. Its Referrer-Policy is milder than the API's:
// with "no-referrer" browsers send `Origin: null` with forms, and nobody could tell where a form
// came from.
func (c *Console) harden(next echo.HandlerFunc) echo.HandlerFunc {
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

// call is one request on its way through a handler.
type call struct {
	echo.Context
	console *Console
	ctx     context.Context // for use cases: ends with the request, or when the call has taken too long
	visitor operators.Visitor
	token   string // of the session, else of the visit
	state   installation.State
	file    *upload // of the form; nil: it has none
	frame   *frame  // what stands around the page; nil: the visitor may not see it
}

// recognized is where a call is kept for the page of an error, once it is known whose it is.
const recognized = "tocsin.console.call"

// handler wraps a route's handler in the checks that the table asks for: who, then whether the form
// is ours, then whether they may, then whether they have a second factor where one is required,
// then whether they have signed in recently enough.
func (c *Console) handler(r Route) echo.HandlerFunc {
	return func(e echo.Context) error {
		web.Route(e, r.Path, false)
		in := call{Context: e, console: c, ctx: e.Request().Context()}
		if c.options.CallTimeout > 0 {
			limited, cancel := context.WithTimeout(in.ctx, c.options.CallTimeout)
			defer cancel()
			in.ctx = limited
		}
		if err := in.recognize(); err != nil {
			return err
		}
		if state, err := c.use.Standing.State(in.ctx); err == nil { // Else the page shows that the database is away.
			in.state = state
		}
		e.Set(recognized, in)
		if r.Needs != operators.Anybody && in.visitor.User.ID == 0 {
			return in.toSignIn()
		}
		if r.Machine {
			if err := in.readForm(maxMachineForm); err != nil {
				return err
			}
		} else if err := in.checkForm(r.largestForm()); err != nil {
			return err
		}
		if err := in.visitor.Authorize(web.Param(e, "org"), r.Needs); err != nil {
			return err
		}
		owed, err := c.use.Factors.Owed(in.ctx, in.visitor, r.Factor, web.Param(e, "org"))
		if err != nil {
			return err
		}
		if owed {
			return in.toFactors()
		}
		if err := c.use.Operators.Visit(in.ctx, in.visitor, web.Param(e, "org")); err != nil {
			return err
		}
		if r.Needs != operators.Anybody {
			in.frame = &frame{}
			e.Set(recognized, in)
		}
		if r.Recent {
			if answered, err := in.confirm(); answered || err != nil {
				return err
			}
		}
		return r.handle(in)
	}
}

// at is the place in the tenancy that the path names.
func (c call) at() app.Path {
	return app.Path{Organization: web.Param(c, "org"), Project: web.Param(c, "prj"), Application: web.Param(c, "app")}
}

// actor is who does what a request asks for.
func (c call) actor() audit.Actor {
	return audit.Actor{Name: c.visitor.User.Username, Address: c.address(), Via: audit.Console}
}

func (c call) address() string { return c.console.proxies.Address(c.Request()) }

// client is whom limits are about.
func (c call) client() netip.Prefix { return c.console.proxies.Client(c.Request()) }

// officer is the actor with what they may do to members of the path's organization.
func (c call) officer() operators.Officer {
	return operators.Officer{Actor: c.actor(), Right: c.visitor.Right(web.Param(c, "org"))}
}
