package console

import (
	"errors"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

const signInPath = Prefix + "sign-in/"

// The cookies of a session, of a visit before signing in, and of a device. The visit only binds the
// sign-in form to a browser. The device identifies a browser that has signed in before.
const (
	sessionCookie = "tocsin_session"
	visitCookie   = "tocsin_visit"
	deviceCookie  = "tocsin_device"
)

// secure reports whether the browser uses https, as far as known.
func (c call) secure() bool { return c.console.transport.Secure(c.Request()) }

// cookie returns a cookie that scripts cannot read and other sites cannot send with a form. With
// https it has the prefix __Host-, so that browsers accept it only from this host. An empty value
// deletes it.
func (c call) cookie(name, value string) *http.Cookie {
	k := &http.Cookie{Name: name, Value: value, Path: c.path(Prefix), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if c.secure() {
		k.Name, k.Path, k.Secure = "__Host-"+name, "/", true
	}
	if value == "" {
		k.MaxAge = -1
	}
	return k
}

// sent returns the value of a cookie; empty if there is none.
func (c call) sent(name string) string {
	k, err := c.Request().Cookie(c.cookie(name, "").Name)
	if err != nil {
		return ""
	}
	return k.Value
}

// authenticate sets the user of the request, if somebody is signed in.
func (c *call) authenticate() error {
	c.token = c.sent(sessionCookie)
	if c.token == "" {
		c.token = c.sent(visitCookie)
		return nil
	}
	v, err := c.console.use.Operators.Resume(c.ctx, c.token)
	if errors.Is(err, operators.ErrNoSession) {
		c.token = c.sent(visitCookie)
		return nil
	}
	if err == nil {
		c.operator = v
		web.Caller(c, "operator", v.User.Username)
	}
	return err
}

// redirectToSignIn redirects to the sign-in form, which then continues to the requested page.
func (c call) redirectToSignIn() error {
	to := c.path(signInPath)
	if c.Request().Method == http.MethodGet {
		to = c.signInPathFor(c.console.root + c.Request().URL.RequestURI())
	}
	return c.redirectPage(to)
}

// redirectPage redirects the whole page, even if a script requested only a fragment.
func (c call) redirectPage(to string) error {
	if c.Request().Header.Get("HX-Request") != "" { // A script requested a part of a page: replace the whole page.
		c.Response().Header().Set("HX-Redirect", to)
		return c.respond(web.Status(fault.Unauthenticated), echo.MIMETextPlainCharsetUTF8, nil)
	}
	return c.redirect(to)
}

// signInPathFor returns the path of the sign-in form that continues to a page.
func (c call) signInPathFor(page string) string {
	return c.path(signInPath) + "?" + url.Values{"next": {page}}.Encode()
}

// nextPath returns the page to show after signing in: the wanted one if it is a page of the
// console, else the home page.
func (c call) nextPath(wanted string) string {
	home := c.path(Prefix)
	u, err := url.Parse(wanted)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || strings.ContainsAny(wanted, "\\\t\r\n") ||
		!strings.HasPrefix(u.EscapedPath(), home) || strings.Contains(u.Path, "/..") || strings.Contains(u.Path, "//") {
		return home
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String()
}

// signInView is what the sign-in page shows.
type signInView struct {
	Next, Username string
	Refused        bool
	Failed         words.Message // the fault of the passkey
	Wait           words.Phrase  // how long to wait; empty: no wait
	Ways           app.SignInOptions
	LeftProvider   bool // the operator has just signed out of a session that began at the provider
}

func (c call) showSignIn() error {
	next := c.nextPath(c.QueryParam("next"))
	if c.operator.User.ID != 0 {
		return c.redirect(next)
	}
	return c.askToSignIn(http.StatusOK, signInView{Next: next, LeftProvider: c.QueryParam("left") != ""})
}

// ensureVisit sets the visit cookie, which binds forms before signing in to this browser.
func (c *call) ensureVisit() {
	if _, err := operators.ParseToken(c.token); err != nil {
		c.token = operators.NewToken() // It has the strength of a session token, but is not stored.
		c.SetCookie(c.cookie(visitCookie, c.token))
	}
}

// askToSignIn shows the form, bound to this browser.
func (c call) askToSignIn(status int, v signInView) error {
	c.ensureVisit()
	v.Ways = c.console.use.SingleSignOn.Options()
	return c.render(status, "sign-in", words.Of("Sign in"), v)
}

// origin returns where an attempt to sign in comes from.
func (c call) origin() operators.Origin {
	return operators.Origin{Network: c.client().String(), Device: c.sent(deviceCookie)}
}

// throttlePassword counts a password attempt of the client's network, and of its site. It returns
// how long to wait if there were too many. A browser in which this user has signed in before is
// exempt.
func (c call) throttlePassword(username string) (wait words.Phrase, err error) {
	network := c.client()
	left := c.console.attempts.Take(network)
	if site := siteOf(network); left == 0 && site.IsValid() {
		left = c.console.siteAttempts.Take(site)
	}
	if left == 0 {
		return nil, nil
	}
	known, err := c.console.use.Operators.KnowsDevice(c.ctx, c.origin(), username)
	if known || err != nil {
		return nil, err
	}
	return c.throttled(operators.TooManyError{Wait: left}), nil
}

// siteOf returns the site of a network of IPv6; the zero prefix for IPv4.
func siteOf(network netip.Prefix) netip.Prefix {
	if !network.Addr().Is6() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(network.Addr(), siteBits).Masked()
}

// throttled logs a refused attempt, and returns how long to wait as text.
func (c call) throttled(t operators.TooManyError) words.Phrase {
	c.Response().Header().Set(echo.HeaderRetryAfter, web.RetryAfter(web.TooMany("", t.Wait)))
	c.console.observer.LogRefusal(c, c.address(), "too many attempts")
	return formatWait(t.Wait)
}

// formatWait formats a time to wait.
func formatWait(d time.Duration) words.Phrase {
	if seconds := max(1, int(math.Ceil(d.Seconds()))); seconds < 120 {
		return words.Of("%d seconds", seconds)
	}
	return words.Of("%d minutes", int(math.Ceil(d.Minutes())))
}

// signIn starts a session with a new token. It ignores the session cookie, against session
// fixation.
func (c call) signIn() error {
	v := signInView{Next: c.nextPath(c.FormValue("next")), Username: c.FormValue("username")}
	username := strings.TrimSpace(v.Username)
	var err error
	if v.Wait, err = c.throttlePassword(username); err != nil {
		return err
	}
	if v.Wait != nil {
		return c.askToSignIn(http.StatusTooManyRequests, v)
	}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Operators.SignIn(c.ctx, by, c.origin(), username, c.FormValue("password"))
	if early, ok := errors.AsType[operators.TooManyError](err); ok {
		v.Wait = c.throttled(early)
		return c.askToSignIn(http.StatusTooManyRequests, v)
	}
	if errors.Is(err, operators.ErrCredentials) {
		c.console.observer.LogRefusal(c, c.address(), "wrong username or password")
		v.Refused = true
		return c.askToSignIn(web.Status(fault.Unauthenticated), v)
	}
	if err != nil {
		return err
	}
	if admitted.Step != "" {
		return c.redirectToStep(admitted.Step, v.Next)
	}
	return c.startSession(admitted, v.Next)
}

// startSession sets the cookies of a new session and redirects to a page.
func (c call) startSession(a app.SignInResult, next string) error {
	if c.operator.User.ID != 0 { // Otherwise the old session would stay valid.
		if err := c.console.use.Operators.SignOut(c.ctx, c.actor(), c.token); err != nil {
			return err
		}
	}
	session, device := c.cookie(sessionCookie, a.Session), c.cookie(deviceCookie, a.Device) //nolint:gosec // Secure is set wherever the browser reaches us by https.
	session.MaxAge, device.MaxAge = int(operators.SessionLife.Seconds()), int(operators.DeviceLife.Seconds())
	c.SetCookie(session)
	c.SetCookie(device)
	c.SetCookie(c.cookie(visitCookie, ""))
	return c.redirect(next)
}

// signOut ends all sessions of the user on all devices, as users expect. The account page ends
// single sessions.
func (c call) signOut() error {
	if err := c.console.use.Operators.SignOutEverywhere(c.ctx, c.actor(), c.operator); err != nil {
		return err
	}
	return c.signedOut()
}

// signedOut deletes the cookies of the session and of the last place, and redirects to the sign-in
// form. Clear-Site-Data does not name cookies, because the browser would also delete those of other
// services on the domain.
func (c call) signedOut() error {
	c.SetCookie(c.cookie(sessionCookie, ""))
	c.SetCookie(c.cookie(placeCookie, ""))
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
	if c.operator.Method == operators.BySingleSignOn { // The session at the provider continues, and the user should know.
		return c.redirect(c.path(signInPath) + "?left=provider")
	}
	return c.redirect(c.path(signInPath))
}
