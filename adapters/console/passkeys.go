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

// passkeysPath is the prefix for the user's own passkeys, signInPasskeyPath that for signing in
// with a passkey only.
const (
	passkeysPath      = factorsPath + "passkeys/"
	passkeyPath       = passkeysPath + "{passkey}/"
	signInPasskeyPath = signInPath + "passkey/"
)

// passkeyCookie holds the token of the passkey ceremony in progress.
const passkeyCookie = "tocsin_passkey"

// passkeyField is the form field with the authenticator's response.
const passkeyField = "passkey"

// The rate limit of passkey requests from one network before signing in. Each request is a row in
// the database for ten minutes.
const (
	passkeyBurst    = 30
	passkeyInterval = 2 * time.Second
)

// Site returns the origin of the passkeys, empty if there are none.
func (v view) Site() string { return v.call.console.use.Factors.PasskeyOrigin() }

// requestPasskey responds to a script with the options for the browser's authenticators, and binds
// the ceremony to this browser.
func (c call) requestPasskey(a app.PasskeyChallenge, err error) error {
	if errors.Is(err, factors.ErrStep) {
		return c.redirect(c.signInPathFor(c.path(Prefix)))
	}
	if err != nil {
		return err
	}
	k := c.cookie(passkeyCookie, a.Step) //nolint:gosec // Secure is set wherever the browser reaches us by https.
	k.MaxAge = int(factors.StepLife.Seconds())
	c.SetCookie(k)
	return c.respond(http.StatusOK, echo.MIMEApplicationJSON, a.Options)
}

// throttlePasskey limits passkey requests before signing in. Browsers that have signed in before
// are exempt.
func (c call) throttlePasskey() error {
	left := c.console.passkeyRequests.Take(c.client())
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

// requestAnyPasskey requests a passkey of any user. It takes no username, so it reveals none.
func (c call) requestAnyPasskey() error {
	if err := c.throttlePasskey(); err != nil {
		return err
	}
	return c.requestPasskey(c.console.use.Factors.BeginPasskeySignIn(c.ctx))
}

// signInByPasskey starts the session of a user with only a passkey.
func (c call) signInByPasskey() error {
	v := signInView{Next: c.nextPath(c.FormValue("next"))}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Factors.SignIn(c.ctx, by, c.origin(), c.sent(passkeyCookie), c.passkeyAnswer())
	if errors.Is(err, factors.ErrStep) {
		return c.restartSignIn(c.path(signInPath), v.Next)
	}
	if f, correctable := c.refused(err); correctable {
		c.console.observer.LogRefusal(c, c.address(), "wrong passkey")
		v.Failed = f.Failed
		return c.askToSignIn(web.Status(fault.Unauthenticated), v)
	}
	if err != nil {
		return err
	}
	c.SetCookie(c.cookie(passkeyCookie, ""))
	return c.startSession(admitted, v.Next)
}

// restartSignIn redirects to the page where the sign-in starts.
func (c call) restartSignIn(path, next string) error { return c.done(path, "late", "next", next) }

// passkeyAnswer returns the authenticator's response.
func (c call) passkeyAnswer() []byte { return []byte(c.FormValue(passkeyField)) }

// requestPasskeyStep requests a passkey after the right password.
func (c call) requestPasskeyStep() error {
	if err := c.throttlePasskey(); err != nil {
		return err
	}
	return c.requestPasskey(c.console.use.Factors.BeginSecondFactor(c.ctx, c.sent(stepCookie)))
}

// answerStepByPasskey starts the session of a user with a passkey after the password.
func (c call) answerStepByPasskey() error {
	v := stepView{Next: c.nextPath(c.FormValue("next"))}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Factors.VerifyPasskey(c.ctx, by, c.origin(), c.sent(stepCookie), c.sent(passkeyCookie), c.passkeyAnswer())
	if errors.Is(err, factors.ErrStep) {
		return c.restartSignIn(c.path(stepPath), v.Next)
	}
	if f, correctable := c.refused(err); correctable {
		c.console.observer.LogRefusal(c, c.address(), "wrong passkey")
		v.Form = form{Failed: f.Failed}
		return c.stepPage(statusOf(v.Form), v)
	}
	if err != nil {
		return err
	}
	c.SetCookie(c.cookie(passkeyCookie, ""))
	c.SetCookie(c.cookie(stepCookie, ""))
	return c.startSession(admitted, v.Next)
}

// requestOwnPasskey requests a passkey of the signed-in user, before an action that needs a recent
// sign-in.
func (c call) requestOwnPasskey() error {
	return c.requestPasskey(c.console.use.Factors.BeginReauthentication(c.ctx, c.operator))
}

// signInAgainByPasskey checks the passkey of a user who signs in again. It returns a form with the
// fault, if there is one.
func (c call) signInAgainByPasskey() (f form, err error) {
	err = c.console.use.Factors.Reauthenticate(c.ctx, c.actor(), c.token, c.sent(passkeyCookie), c.passkeyAnswer())
	if errors.Is(err, factors.ErrStep) {
		return form{Failed: messageOf(factors.ErrStep.Error())}, nil
	}
	if f, correctable := c.refused(err); correctable {
		c.console.observer.LogRefusal(c, c.address(), "wrong passkey")
		return form{Failed: f.Failed}, nil
	}
	return form{}, err
}

// passkeyView is a new passkey to be created by the browser.
type passkeyView struct {
	Options, Step string
	To, Back      string // where the form is sent, and where "Cancel" leads
	Form          form
}

// beginPasskey shows the page on which the browser creates a passkey.
func (c call) beginPasskey() error {
	a, err := c.console.use.Factors.BeginPasskey(c.ctx, c.operator)
	if f, correctable := c.refused(err); correctable {
		return c.factorsPage(statusOf(f), f)
	}
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, "factor-passkey", words.Of("Add a passkey"),
		passkeyView{Options: string(a.Options), Step: a.Step, To: c.link("account", "second-factor", "passkeys", "confirm"), Back: c.link("account", "second-factor")})
}

// confirmPasskey adds the passkey. After the first factor it shows the recovery codes, only once.
func (c call) confirmPasskey() error {
	return c.factorAdded(c.console.use.Factors.ConfirmPasskey(c.ctx, c.actor(), c.operator, c.token, c.FormValue("step"), c.FormValue("name"), c.passkeyAnswer()))
}

// passkey returns the id of the passkey in the path.
func (c call) passkey() factors.PasskeyID { return factors.PasskeyID(parseID(web.Param(c, "passkey"))) }

func (c call) renamePasskey() error {
	err := c.console.use.Factors.RenamePasskey(c.ctx, c.actor(), c.operator, c.passkey(), c.FormValue("name"))
	return c.answerForm(err, func(f form) error { return c.factorsPage(statusOf(f), f) }, c.path(factorsPath), "saved")
}

func (c call) removePasskey() error {
	err := c.console.use.Factors.RemovePasskey(c.ctx, c.actor(), c.operator, c.token, c.passkey())
	if errors.Is(err, factors.ErrNotFound) { // It has been removed already.
		err = nil
	}
	return c.answerForm(err, func(f form) error { return c.factorsPage(statusOf(f), f) }, c.path(factorsPath), "factor-removed")
}

func passkeyRoutes() []Route {
	return []Route{
		post(signInPasskeyPath+"ask/", operators.Everyone, call.requestAnyPasskey),
		post(signInPasskeyPath, operators.Everyone, call.signInByPasskey),
		post(stepPath+"passkey/ask/", operators.Everyone, call.requestPasskeyStep),
		post(stepPath+"passkey/", operators.Everyone, call.answerStepByPasskey),
		post(accountPath+"passkey/ask/", operators.SignedIn, call.requestOwnPasskey),
		guarded(passkeysPath, operators.SignedIn, call.beginPasskey),
		guarded(passkeysPath+"confirm/", operators.SignedIn, call.confirmPasskey),
		guarded(passkeyPath+"name/", operators.SignedIn, call.renamePasskey),
		guarded(passkeyPath+"remove/", operators.SignedIn, call.removePasskey),
	}
}
