package console

import (
	"errors"
	"math"
	"net/http"
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

// The cookies: of a session; of a visit by somebody who has not signed in yet, which only binds the
// sign-in form to a browser; and of a device, by which a browser is known where somebody has signed
// in before.
const (
	sessionCookie = "tocsin_session"
	visitCookie   = "tocsin_visit"
	deviceCookie  = "tocsin_device"
)

// secure reports whether the browser reaches us by https, as far as we know.
func (c call) secure() bool { return c.console.outside.Secure(c.Request()) }

// cookie makes a cookie that no script reads and no other site sends with a form. By https it has
// the prefix __Host-, with which browsers take it from this host alone. An empty value deletes it.
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

// sent is the value of a cookie that the browser sent, empty when it sent none.
func (c call) sent(name string) string {
	k, err := c.Request().Cookie(c.cookie(name, "").Name)
	if err != nil {
		return ""
	}
	return k.Value
}

// recognize finds out who is asking. Whoever is not signed in is nobody, and no fault.
func (c *call) recognize() error {
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
		c.visitor = v
		web.Caller(c, "operator", v.User.Username)
	}
	return err
}

// toSignIn sends whoever must sign in first to the form, and a page that was asked for comes after
// it.
func (c call) toSignIn() error {
	to := c.path(signInPath)
	if c.Request().Method == http.MethodGet {
		to = c.toSignInFor(c.console.root + c.Request().URL.RequestURI())
	}
	return c.instead(to)
}

// instead goes on to a page in the place of what was asked for.
func (c call) instead(to string) error {
	if c.Request().Header.Get("HX-Request") != "" { // A script asked for a piece of a page: the whole page has to go.
		c.Response().Header().Set("HX-Redirect", to)
		return c.whole(web.Status(fault.Unauthenticated), echo.MIMETextPlainCharsetUTF8, nil)
	}
	return c.to(to)
}

// toSignInFor is the path of the form behind which a page of ours comes.
func (c call) toSignInFor(page string) string {
	return c.path(signInPath) + "?" + url.Values{"next": {page}}.Encode()
}

// next is where to go after signing in: a page of ours that the form names, else the first one.
// Nothing leads out of the console.
func (c call) next(wanted string) string {
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
	Failed         words.Told   // what is wrong with the passkey
	Wait           words.Phrase // how long to wait; empty: not at all
	Ways           app.SignInWays
	Left           bool // whoever looks has just left a session that came from the provider
}

func (c call) showSignIn() error {
	next := c.next(c.QueryParam("next"))
	if c.visitor.User.ID != 0 {
		return c.to(next)
	}
	return c.askToSignIn(http.StatusOK, signInView{Next: next, Left: c.QueryParam("left") != ""})
}

// visit binds the forms of a page for strangers to this browser.
func (c *call) visit() {
	if _, err := operators.ParseToken(c.token); err != nil {
		c.token = operators.NewToken() // As good as a session's, but stored nowhere.
		c.SetCookie(c.cookie(visitCookie, c.token))
	}
}

// askToSignIn shows the form, bound to this browser.
func (c call) askToSignIn(status int, v signInView) error {
	c.visit()
	v.Ways = c.console.use.SingleSignOn.Ways()
	return c.render(status, "sign-in", words.Of("Sign in"), v)
}

// origin is where an attempt to sign in comes from.
func (c call) origin() operators.Origin {
	return operators.Origin{Network: c.client().String(), Device: c.sent(deviceCookie)}
}

// tooFast takes one of the attempts at passwords that the client's network has, and returns how
// long to wait where there is none left, as words. A browser in which this user has signed in
// before is not held up by others in its network.
func (c call) tooFast(username string) (wait words.Phrase, err error) {
	left := c.console.attempts.Take(c.client())
	if left == 0 {
		return nil, nil
	}
	known, err := c.console.use.Operators.KnowsDevice(c.ctx, c.origin(), username)
	if known || err != nil {
		return nil, err
	}
	return c.refuse(operators.TooMany{Wait: left}), nil
}

// refuse notes that an attempt at a password came too early, and returns how long to wait, as
// words.
func (c call) refuse(t operators.TooMany) words.Phrase {
	c.Response().Header().Set(echo.HeaderRetryAfter, web.RetryAfter(web.TooMany("", t.Wait)))
	c.console.observer.LogRefusal(c, c.address(), "too many attempts")
	return waiting(t.Wait)
}

// waiting is a time to wait in words.
func waiting(d time.Duration) words.Phrase {
	if seconds := max(1, int(math.Ceil(d.Seconds()))); seconds < 120 {
		return words.Of("%d seconds", seconds)
	}
	return words.Of("%d minutes", int(math.Ceil(d.Minutes())))
}

// signIn begins a session with a token that nobody has seen before, whatever cookie came with the
// form.
func (c call) signIn() error {
	v := signInView{Next: c.next(c.FormValue("next")), Username: c.FormValue("username")}
	username := strings.TrimSpace(v.Username)
	var err error
	if v.Wait, err = c.tooFast(username); err != nil {
		return err
	}
	if v.Wait != nil {
		return c.askToSignIn(http.StatusTooManyRequests, v)
	}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Operators.SignIn(c.ctx, by, c.origin(), username, c.FormValue("password"))
	if early, is := errors.AsType[operators.TooMany](err); is {
		v.Wait = c.refuse(early)
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
		return c.toStep(admitted.Step, v.Next)
	}
	return c.admitted(admitted, v.Next)
}

// admitted gives the browser what it is known by from now on, and goes on to a page.
func (c call) admitted(a app.Admission, next string) error {
	if c.visitor.User.ID != 0 { // The session that this one replaces would live on, and nobody could end it.
		if err := c.console.use.Operators.SignOut(c.ctx, c.actor(), c.token); err != nil {
			return err
		}
	}
	session, device := c.cookie(sessionCookie, a.Session), c.cookie(deviceCookie, a.Device) //nolint:gosec // Secure is set wherever the browser reaches us by https.
	session.MaxAge, device.MaxAge = int(operators.SessionLife.Seconds()), int(operators.DeviceLife.Seconds())
	c.SetCookie(session)
	c.SetCookie(device)
	c.SetCookie(c.cookie(visitCookie, ""))
	return c.to(next)
}

// signOut ends all sessions of whoever asks, wherever they are signed in: this is what people mean
// who leave. One alone ends on the page of the account.
func (c call) signOut() error {
	if err := c.console.use.Operators.SignOutEverywhere(c.ctx, c.actor(), c.visitor); err != nil {
		return err
	}
	return c.signedOut()
}

// signedOut has the browser forget what it keeps of the pages. Its cookies go one by one: to clear
// them all would end what other services of the same domain have, too.
func (c call) signedOut() error {
	c.SetCookie(c.cookie(sessionCookie, ""))
	c.SetCookie(c.cookie(placeCookie, ""))
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
	if c.visitor.Method == operators.BySingleSignOn { // The session at the provider goes on, which people should know.
		return c.to(c.path(signInPath) + "?left=provider")
	}
	return c.to(c.path(signInPath))
}
