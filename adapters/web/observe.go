package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/domain/installation"
	"github.com/tocsin/tocsin/ports"
)

// The context keys for the values of the log line.
const (
	routeKey  = "route"
	callerKey = "caller"
	quietKey  = "quiet"
)

// Route records the route of a request as in the route table. Quiet routes are logged at a lower
// level.
func Route(c echo.Context, path string, quiet bool) {
	c.Set(routeKey, path)
	c.Set(quietKey, quiet)
}

// Caller records who sent a request. kind is the name of the attribute in the log line.
func Caller(c echo.Context, kind, name string) { c.Set(callerKey, slog.String(kind, name)) }

// ErrUndelivered means that the client did not receive the whole response.
var ErrUndelivered = errors.New("the client did not take the answer")

// StatusHungUp is the status of a failed request whose client did not wait for the response, in the
// log, the metrics and the traces; nginx uses it, too. It is never sent.
const StatusHungUp = 499

// ResponseObserver is called for every response: with the method, one of HTTP's or `other`, and the
// route as the route table writes it, or `unknown`.
type ResponseObserver func(method, route string, status int, duration time.Duration)

// Observer observes requests: it gives them ids, recovers from panics, and logs, counts and traces
// them.
type Observer struct {
	onResponse ResponseObserver
	clock      ports.Clock
	log        *slog.Logger
	transport  Transport
	tracer     ports.Tracer
	untraced   []string
}

// NewObserver returns an observer that writes to a log, calls answered for every response (nil:
// nothing is called), and traces nothing.
func NewObserver(clock ports.Clock, log *slog.Logger, outside Transport, answered ResponseObserver) Observer {
	if answered == nil {
		answered = func(string, string, int, time.Duration) {}
	}
	return Observer{clock: clock, log: log, transport: outside, onResponse: answered, tracer: ports.Untraced{}}
}

// Traced returns the observer with tracing of requests, except those of some paths. A nil tracer
// traces nothing.
func (o Observer) Traced(tracer ports.Tracer, but ...string) Observer {
	if tracer != nil {
		o.tracer, o.untraced = tracer, but
	}
	return o
}

// Middleware returns the outermost middleware. It sets the request id and the common headers,
// recovers from panics, calls fail for errors, and logs one line. The line contains the route and
// never the path, which may contain usernames and e-mail addresses.
func (o Observer) Middleware(fail func(echo.Context, error)) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := o.clock.Now()
			header := c.Response().Header()
			header.Set(echo.HeaderXRequestID, requestID(c.Request().Header.Get(echo.HeaderXRequestID)))
			header.Set(echo.HeaderXContentTypeOptions, "nosniff")
			header.Set(echo.HeaderReferrerPolicy, "no-referrer")
			header.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
			header.Set(echo.HeaderCacheControl, "no-store")
			if o.transport.Secure(c.Request()) {
				header.Set(echo.HeaderStrictTransportSecurity, transportSecurity)
			}

			span := o.begin(c)
			err := recoverPanic(c, next)
			aborted := err != nil && c.Response().Committed
			if err != nil && !aborted {
				fail(c, err)
			}
			o.logRequest(c, o.clock.Now().Sub(start))
			end(c, span, aborted)
			if aborted {
				o.logAborted(c, err)
				panic(http.ErrAbortHandler) // The server closes the connection, so that the client notices the incomplete response.
			}
			return nil
		}
	}
}

// begin starts the span of a request, as a child of the caller's.
func (o Observer) begin(c echo.Context) ports.Span {
	if slices.Contains(o.untraced, c.Request().URL.Path) {
		return ports.SpanOf(c.Request().Context()) // An empty one.
	}
	ctx, span := o.tracer.Begin(c.Request().Context(), ports.SpanStart{Name: methodName(c.Request().Method), Kind: ports.SpanServer, Parent: callerTraceparent(c)})
	if span.Traceparent() != "" {
		c.SetRequest(c.Request().WithContext(ctx))
	}
	return span
}

// end ends the span. Like the log line, it has the route and never the path.
func end(c echo.Context, span ports.Span, aborted bool) {
	if !span.Recorded() {
		return
	}
	method, route, status := methodName(c.Request().Method), routeOf(c), statusOf(c)
	span.Name(method + " " + route)
	span.Text("http.request.method", method)
	span.Text("http.route", route)
	span.Number("http.response.status_code", int64(status))
	span.Text("tocsin.request", RequestID(c))
	span.End(aborted || status >= http.StatusInternalServerError)
}

// routeOf returns the route of a request.
func routeOf(c echo.Context) string {
	if route, _ := c.Get(routeKey).(string); route != "" {
		return route
	}
	return "unknown"
}

// statusOf returns the status of a request for the log, the metrics and the traces: StatusHungUp if
// it failed and the client is gone, which is usually the cause.
func statusOf(c echo.Context) int {
	status := c.Response().Status
	if status >= http.StatusInternalServerError && errors.Is(c.Request().Context().Err(), context.Canceled) {
		return StatusHungUp
	}
	return status
}

// RequestID returns the id of a request, as in its response and its log lines.
func RequestID(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

// LogFailure logs an error that the response does not show. If the client has disconnected, it logs
// at level debug.
func (o Observer) LogFailure(c echo.Context, level slog.Level, err error, more ...slog.Attr) {
	if c.Request().Context().Err() != nil {
		level = slog.LevelDebug
	}
	o.log.LogAttrs(c.Request().Context(), level, "request failed",
		append([]slog.Attr{slog.String("id", RequestID(c)), slog.String("error", err.Error())}, more...)...)
}

// Sampler lets some of many events pass. It is safe for concurrent use.
type Sampler interface {
	// Pass reports whether an event may pass, and how many were held back since the last one that
	// did.
	Pass(now time.Time) (pass bool, held int)
}

// MaxUnavailable is how many requests a minute LogUnavailable should log as warnings: few enough
// that an outage leaves room for other problems.
const MaxUnavailable = 2

// LogUnavailable logs why a request cannot be served for now. In an outage all fail: what some lets
// pass is a warning, and the others are logged at level debug, like requests that change something
// during maintenance.
func (o Observer) LogUnavailable(c echo.Context, some Sampler, err error) {
	if c.Request().Context().Err() != nil || errors.Is(err, installation.ErrReadOnly) {
		o.LogFailure(c, slog.LevelDebug, err)
		return
	}
	pass, held := some.Pass(o.clock.Now())
	switch {
	case !pass:
		o.LogFailure(c, slog.LevelDebug, err)
	case held > 0:
		o.LogFailure(c, slog.LevelWarn, err, slog.Int("others_not_logged", held))
	default:
		o.LogFailure(c, slog.LevelWarn, err)
	}
}

// LogRefusal logs that a client was refused, with its address, for fail2ban and similar tools
// (deploy/fail2ban). It logs nothing that the client sent.
func (o Observer) LogRefusal(c echo.Context, client, reason string) {
	o.log.LogAttrs(c.Request().Context(), slog.LevelWarn, "sign-in refused", slog.String("client", client), slog.String("reason", reason),
		slog.String("id", RequestID(c)))
}

// LogUndelivered logs that the response to an error could not be written.
func (o Observer) LogUndelivered(c echo.Context, err error) {
	o.log.LogAttrs(c.Request().Context(), slog.LevelDebug, "the answer was not delivered",
		slog.String("id", RequestID(c)), slog.String("error", err.Error()))
}

// recoverPanic calls next and turns a panic into an error.
func recoverPanic(c echo.Context, next echo.HandlerFunc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return next(c)
}

func (o Observer) logRequest(c echo.Context, duration time.Duration) {
	level := slog.LevelInfo
	route := routeOf(c)
	if quiet, _ := c.Get(quietKey).(bool); quiet {
		level = slog.LevelDebug
	}
	method := methodName(c.Request().Method)
	status := statusOf(c)
	o.onResponse(method, route, status, duration)
	attributes := []slog.Attr{
		slog.String("id", RequestID(c)),
		slog.String("method", method),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Duration("duration", duration),
		slog.Int64("bytes", c.Response().Size),
	}
	if trace, _, _, ok := ports.ParseTraceparent(Traceparent(c)); ok {
		attributes = append(attributes, slog.String("trace", trace))
	}
	if caller, ok := c.Get(callerKey).(slog.Attr); ok {
		attributes = append(attributes, caller)
	}
	o.log.LogAttrs(c.Request().Context(), level, "request", attributes...)
}

// logAborted logs why a response is incomplete. If the client has disconnected, it logs at level
// debug.
func (o Observer) logAborted(c echo.Context, err error) {
	level := slog.LevelError
	if errors.Is(err, ErrUndelivered) || c.Request().Context().Err() != nil {
		level = slog.LevelDebug
	}
	o.log.LogAttrs(c.Request().Context(), level, "answer cut off", slog.String("id", RequestID(c)), slog.String("error", err.Error()))
}

// methodName returns a standard method unchanged, and `other` for any other, so that clients cannot
// invent labels.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// maxRequestID is the longest request id that a caller may choose.
const maxRequestID = 128

// requestID returns the id from the client if it is valid, else a new one.
func requestID(sent string) string {
	const sane = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+="
	if sent == "" || len(sent) > maxRequestID || strings.Trim(sent, sane) != "" {
		return rand.Text()
	}
	return sent
}
