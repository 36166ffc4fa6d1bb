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
)

// passkeysPath begins the paths of one's own passkeys, signInPasskeyPath those of signing in with
// one alone.
const (
	passkeysPath      = factorsPath + "passkeys/"
	passkeyPath       = passkeysPath + "{passkey}/"
	signInPasskeyPath = signInPath + "passkey/"
)

// passkeyCookie holds the token of the step in which the browser is asked for a passkey.
const passkeyCookie = "tocsin_passkey"

// passkeyField is the field that holds what an authenticator answers.
const passkeyField = "passkey"

// A network may have strangers asked for their passkeys so many times at once, and then once every
// so many seconds. Each time is a row in the database for ten minutes.
const (
	askBurst    = 30
	askInterval = 2 * time.Second
)

// Site is the origin for which passkeys are, empty where there are none.
func (v view) Site() string { return v.call.console.use.Factors.Site() }

// ask answers a script with what it asks the browser's authenticators, and binds the answer to this
// browser.
func (c call) ask(a app.Asking, err error) error {
	if errors.Is(err, factors.ErrStep) {
		return c.to(c.toSignInFor(c.path(Prefix)))
	}
	if err != nil {
		return err
	}
	k := c.cookie(passkeyCookie, a.Step) //nolint:gosec // Secure is set wherever the browser reaches us by https.
	k.MaxAge = int(factors.StepLife.Seconds())
	c.SetCookie(k)
	return c.whole(http.StatusOK, echo.MIMEApplicationJSON, a.Asked)
}

// tooOften counts that a stranger is asked for a passkey. Browsers in which somebody has signed in
// before are not held up.
func (c call) tooOften() error {
	left := c.console.asks.Take(c.client())
	if left == 0 {
		return nil
	}
	known, err := c.console.use.Operators.KnowsBrowser(c.ctx, c.origin())
	if known || err != nil {
		return err
	}
	c.console.observer.LogRefusal(c, c.address(), "too many attempts")
	return web.TooMany("too many attempts", left)
}

// askAnybody asks for a passkey of whoever has one. It is told no username, and so tells nothing of
// any.
func (c call) askAnybody() error {
	if err := c.tooOften(); err != nil {
		return err
	}
	return c.ask(c.console.use.Factors.AskAnybody(c.ctx))
}

// signInByPasskey begins the session of whoever shows a passkey and nothing else.
func (c call) signInByPasskey() error {
	v := signInView{Next: c.next(c.FormValue("next"))}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Factors.SignIn(c.ctx, by, c.origin(), c.sent(passkeyCookie), c.answered())
	if errors.Is(err, factors.ErrStep) {
		return c.late(c.path(signInPath), v.Next)
	}
	if f, mendable := c.refused(err); mendable {
		c.console.observer.LogRefusal(c, c.address(), "wrong passkey")
		v.Failed = f.Failed
		return c.askToSignIn(web.Status(fault.Unauthenticated), v)
	}
	if err != nil {
		return err
	}
	c.SetCookie(c.cookie(passkeyCookie, ""))
	return c.admitted(admitted, v.Next)
}

// late goes back to a page where one begins again.
func (c call) late(path, next string) error { return c.done(path, "late", "next", next) }

// answered is what the authenticator answers.
func (c call) answered() []byte { return []byte(c.FormValue(passkeyField)) }

// askAfterPassword asks somebody who has shown the right password for a passkey.
func (c call) askAfterPassword() error {
	if err := c.tooOften(); err != nil {
		return err
	}
	return c.ask(c.console.use.Factors.AskAfterPassword(c.ctx, c.sent(stepCookie)))
}

// answerStepByPasskey begins the session of whoever shows a passkey after the password.
func (c call) answerStepByPasskey() error {
	v := stepView{Next: c.next(c.FormValue("next"))}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Factors.ShowPasskey(c.ctx, by, c.origin(), c.sent(stepCookie), c.sent(passkeyCookie), c.answered())
	if errors.Is(err, factors.ErrStep) {
		return c.late(c.path(stepPath), v.Next)
	}
	if f, mendable := c.refused(err); mendable {
		c.console.observer.LogRefusal(c, c.address(), "wrong passkey")
		v.Form = form{Failed: f.Failed}
		return c.stepPage(statusOf(v.Form), v)
	}
	if err != nil {
		return err
	}
	c.SetCookie(c.cookie(passkeyCookie, ""))
	c.SetCookie(c.cookie(stepCookie, ""))
	return c.admitted(admitted, v.Next)
}

// askOwner asks whoever is signed in for one of their passkeys, on the way to what takes a recent
// sign-in.
func (c call) askOwner() error { return c.ask(c.console.use.Factors.AskAgain(c.ctx, c.visitor)) }

// signInAgainByPasskey takes the passkey of whoever signs in again, and says what is wrong with it.
func (c call) signInAgainByPasskey() (f form, err error) {
	err = c.console.use.Factors.SignInAgain(c.ctx, c.actor(), c.token, c.sent(passkeyCookie), c.answered())
	if errors.Is(err, factors.ErrStep) {
		return form{Failed: told(factors.ErrStep.Error())}, nil
	}
	if f, mendable := c.refused(err); mendable {
		c.console.observer.LogRefusal(c, c.address(), "wrong passkey")
		return form{Failed: f.Failed}, nil
	}
	return form{}, err
}

// passkeyView is a new passkey, for which the browser is asked.
type passkeyView struct {
	Asked, Step string
	To, Back    string // where it is sent, and where one goes without it
	Form        form
}

// beginPasskey shows the page on which the browser makes a passkey.
func (c call) beginPasskey() error {
	a, err := c.console.use.Factors.BeginPasskey(c.ctx, c.visitor)
	if f, mendable := c.refused(err); mendable {
		return c.factorsPage(statusOf(f), f)
	}
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, "factor-passkey", words.Of("Add a passkey"),
		passkeyView{Asked: string(a.Asked), Step: a.Step, To: c.link("account", "second-factor", "passkeys", "confirm"), Back: c.link("account", "second-factor")})
}

// confirmPasskey shows the recovery codes of whoever sets up the first factor, this once.
func (c call) confirmPasskey() error {
	return c.factorAdded(c.console.use.Factors.ConfirmPasskey(c.ctx, c.actor(), c.visitor, c.token, c.FormValue("step"), c.FormValue("name"), c.answered()))
}

// passkey is the id of the passkey that the path names.
func (c call) passkey() factors.PasskeyID { return factors.PasskeyID(integer(web.Param(c, "passkey"))) }

func (c call) renamePasskey() error {
	err := c.console.use.Factors.RenamePasskey(c.ctx, c.actor(), c.visitor, c.passkey(), c.FormValue("name"))
	return c.settle(err, func(f form) error { return c.factorsPage(statusOf(f), f) }, c.path(factorsPath), "saved")
}

func (c call) removePasskey() error {
	err := c.console.use.Factors.RemovePasskey(c.ctx, c.actor(), c.visitor, c.passkey())
	if errors.Is(err, factors.ErrNotFound) { // It is gone already, which is what was wanted.
		err = nil
	}
	return c.settle(err, func(f form) error { return c.factorsPage(statusOf(f), f) }, c.path(factorsPath), "factor-removed")
}

func passkeyRoutes() []Route {
	return []Route{
		post(signInPasskeyPath+"ask/", operators.Anybody, call.askAnybody),
		post(signInPasskeyPath, operators.Anybody, call.signInByPasskey),
		post(stepPath+"passkey/ask/", operators.Anybody, call.askAfterPassword),
		post(stepPath+"passkey/", operators.Anybody, call.answerStepByPasskey),
		post(accountPath+"passkey/ask/", operators.SignedIn, call.askOwner),
		guarded(passkeysPath, operators.SignedIn, call.beginPasskey),
		guarded(passkeysPath+"confirm/", operators.SignedIn, call.confirmPasskey),
		guarded(passkeyPath+"name/", operators.SignedIn, call.renamePasskey),
		guarded(passkeyPath+"remove/", operators.SignedIn, call.removePasskey),
	}
}
