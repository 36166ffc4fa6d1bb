package console

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/signon"
)

const signOnPath = signInPath + "sso/"

// signOnCookie holds the token of the step while the user is at the provider.
const signOnCookie = "tocsin_sso"

// The rate limit of redirects to the provider and back, for one network. Each is a row in the
// database.
const (
	signOnBurst = 60
	signOnRate  = 2
)

// The rate limit of the provider's requests to end sessions, for one network. A provider may end
// the sessions of a whole organization at once, and shares its network with browsers.
const (
	logoutBurst = 1_000
	logoutRate  = 20
)

// throttleSignOn limits redirects to the provider and back.
func (c call) throttleSignOn() error {
	if wait := c.console.signOnVisits.Take(c.client()); wait > 0 {
		return web.TooMany("too many sign-ins come from your network", max(wait, time.Second))
	}
	return nil
}

// beginSignOn redirects to the provider. It is a GET, because form-action of the policy forbids
// redirects of forms to other hosts.
func (c call) beginSignOn() error {
	if err := c.throttleSignOn(); err != nil {
		return err
	}
	next, draft := c.nextPath(c.QueryParam("next")), c.QueryParam("draft")
	if draft == "" && c.operator.User.ID != 0 {
		return c.redirect(next)
	}
	d, err := c.console.use.SingleSignOn.Begin(c.ctx, c.operator, c.publicURL()+signOnPath+"callback/", next, draft)
	if errors.Is(err, factors.ErrStep) {
		return signon.ErrBrowser
	}
	if err != nil {
		return err
	}
	k := c.cookie(signOnCookie, d.Step) //nolint:gosec // Secure is set wherever the browser reaches us by https.
	k.MaxAge = int(factors.StepLife.Seconds())
	c.SetCookie(k)
	return c.redirect(d.Address)
}

// finishSignOn handles the callback from the provider and starts a session.
func (c call) finishSignOn() error {
	if err := c.throttleSignOn(); err != nil {
		return err
	}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	arrived, err := c.console.use.SingleSignOn.Finish(c.ctx, by, c.origin(), app.SignOnCallback{Step: c.sent(signOnCookie), Session: c.token,
		State: c.QueryParam("state"), Code: c.QueryParam("code"), Issuer: c.QueryParam("iss"), Refused: c.QueryParam("error")})
	switch {
	case errors.Is(err, operators.ErrNoSession): // The session ended while the user was at the provider.
		return c.redirect(c.signInPathFor(c.nextPath(arrived.Next)))
	case fault.KindOf(err) == fault.Forbidden:
		return c.signOnRefused(err, arrived.Next)
	case err != nil:
		return err
	}
	c.SetCookie(c.cookie(signOnCookie, ""))
	if arrived.Form != nil {
		return c.render(http.StatusOK, "confirm", words.Of("Signed in again"), confirmView{Path: arrived.Form.Path, Draft: arrived.Form.Sealed, Done: true})
	}
	return c.startSession(arrived.SignInResult, c.nextPath(arrived.Next))
}

// signOnRefusedView says why a user was refused, and what they can do.
type signOnRefusedView struct {
	Text         words.Message
	AccountTaken bool
	RetryPath    string
	SignOutPath  string
}

// signOnRefused renders the page for a user whom the provider knows and the console refuses.
func (c call) signOnRefused(why error, next string) error {
	c.console.observer.LogRefusal(c, c.address(), "single sign-on: "+why.Error())
	known, _ := errors.AsType[*fault.Error](why)
	v := signOnRefusedView{Text: messageOf(known.Error()), AccountTaken: errors.Is(why, signon.ErrTaken), RetryPath: c.signInPathFor(c.nextPath(next)), SignOutPath: c.path(signOnPath) + "leave/"}
	return c.render(web.Status(fault.Forbidden), "sso-refused", words.Of("You are not signed in"), v)
}

// signOutAtProvider redirects a signed-out user to the provider, to end their session there too.
func (c call) signOutAtProvider() error {
	if err := c.throttleSignOn(); err != nil {
		return err
	}
	to, err := c.console.use.SingleSignOn.EndSessionURL(c.ctx, c.publicURL()+signInPath)
	if err != nil {
		return err
	}
	if to == "" {
		to = c.path(signInPath)
	}
	return c.redirect(to)
}

// logOutByProvider ends sessions at the provider's request (OpenID Connect Back-Channel Logout
// 1.0).
func (c call) logOutByProvider() error {
	if wait := c.console.logouts.Take(c.client()); wait > 0 {
		return web.TooMany("too many requests to end sessions come from your network", max(wait, time.Second))
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	err := c.console.use.SingleSignOn.LogOut(c.ctx, by, c.FormValue("logout_token"))
	if errors.Is(err, signon.ErrAnswer) || errors.Is(err, signon.ErrReplayed) {
		c.console.observer.LogRefusal(c, c.address(), "logout token: "+err.Error())
		return c.JSON(http.StatusBadRequest, map[string]string{"error": "invalid_request"})
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// confirmAtProvider asks a user without a recent sign-in to sign in again at the provider. It
// stores the sent form meanwhile.
func (c call) confirmAtProvider(v confirmView) error {
	token, err := c.console.use.SingleSignOn.SavePendingForm(c.ctx, c.operator, app.PendingForm{Path: v.Path, Sealed: v.Draft})
	if err != nil {
		return err
	}
	v.SignOn, v.Label = c.path(signOnPath)+"?"+pairs([]string{"draft", token}).Encode(), c.console.use.SingleSignOn.Options().SingleSignOn
	return c.confirmPage(web.Status(fault.Unauthenticated), v)
}
