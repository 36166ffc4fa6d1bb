package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
)

const (
	factorsPath = accountPath + "second-factor/"
	stepPath    = signInPath + "second-factor/"
)

// stepCookie holds the token of a sign-in between the password and the second factor.
const stepCookie = "tocsin_step"

// stepView is the page that asks for a second factor after the password.
type stepView struct {
	app.PendingSignIn
	Next string
	Form form
	Wait words.Phrase // how long to wait after too many wrong codes; empty: no wait
}

// redirectToStep redirects to the page for the second factor, which then continues to next.
func (c call) redirectToStep(step, next string) error {
	k := c.cookie(stepCookie, step) //nolint:gosec // Secure is set wherever the browser reaches us by https.
	k.MaxAge = int(factors.StepLife.Seconds())
	c.SetCookie(k)
	return c.redirect(c.path(stepPath) + "?" + pairs([]string{"next", next}).Encode())
}

func (c call) showStep() error {
	return c.stepPage(http.StatusOK, stepView{Next: c.nextPath(c.QueryParam("next"))})
}

// stepPage asks for the second factor. If the step has expired, the sign-in starts again.
func (c call) stepPage(status int, v stepView) (err error) {
	v.PendingSignIn, err = c.console.use.Factors.PendingSignIn(c.ctx, c.sent(stepCookie))
	if errors.Is(err, factors.ErrStep) {
		return c.redirect(c.signInPathFor(v.Next))
	}
	if err != nil {
		return err
	}
	c.ensureVisit()
	return c.render(status, "second-factor", words.Of("Second factor"), v)
}

// answerStep starts the session of a user with the right second factor.
func (c call) answerStep() error {
	v := stepView{Next: c.nextPath(c.FormValue("next"))}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Factors.VerifyCode(c.ctx, by, c.origin(), c.sent(stepCookie), c.FormValue("code"))
	if early, ok := errors.AsType[operators.TooManyError](err); ok {
		v.Wait = c.throttled(early)
		return c.stepPage(http.StatusTooManyRequests, v)
	}
	if errors.Is(err, factors.ErrStep) {
		return c.redirect(c.signInPathFor(v.Next))
	}
	if f, correctable := c.refused(err); correctable {
		c.console.observer.LogRefusal(c, c.address(), "wrong second factor")
		f.values = nil // Codes are not shown again.
		v.Form = f
		return c.stepPage(statusOf(f), v)
	}
	if err != nil {
		return err
	}
	c.SetCookie(c.cookie(stepCookie, ""))
	return c.startSession(admitted, v.Next)
}

// factorsView is the second factors of the signed-in user.
type factorsView struct {
	app.AccountFactors
	Passkeys   []factors.Passkey
	RequiredBy []string // organizations, by name, that require a second factor from a user without one
	Form       form     // the result of the last attempt
}

// Full reports whether the user has the maximum number of passkeys.
func (v factorsView) Full() bool { return len(v.Passkeys) >= factors.MaxPasskeys }

func (c call) showFactors() error { return c.factorsPage(http.StatusOK, form{}) }

func (c call) factorsPage(status int, f form) error {
	held, err := c.console.use.Factors.OfAccount(c.ctx, c.operator)
	if err != nil {
		return err
	}
	found, err := c.console.use.Factors.Passkeys(c.ctx, c.operator)
	if err != nil {
		return err
	}
	requiredBy, err := c.console.use.Factors.RequiringSetupNames(c.ctx, c.operator, c.QueryParam("for"))
	if err != nil {
		return err
	}
	return c.render(status, "factors", words.Of("Second factor"), factorsView{AccountFactors: held, Passkeys: found, RequiredBy: requiredBy, Form: f})
}

// redirectToFactors redirects a user who must first set up a second factor to the page for that.
func (c call) redirectToFactors() error {
	return c.redirectPage(c.path(factorsPath) + "?" + pairs([]string{"for", web.Param(c, "org")}).Encode())
}

// requireFactor sets whether the organization requires a second factor.
func (c call) requireFactor() error {
	on, err := c.parseSwitch("on")
	if err != nil {
		return err
	}
	if err := c.console.use.Factors.Require(c.ctx, c.actor(), c.at(), on); err != nil {
		return err
	}
	return c.done(c.below("projects"), "saved")
}

// appView is a new authenticator app, with the secret to enter there.
type appView struct {
	Secret factors.Secret
	Step   string
	Code   qrCode
	Form   form
}

// beginApp shows a new secret. It is never part of a URL or a cookie.
func (c call) beginApp() error {
	secret, step, err := c.console.use.Factors.BeginApp(c.ctx, c.operator)
	if f, correctable := c.refused(err); correctable {
		return c.factorsPage(statusOf(f), f)
	}
	if err != nil {
		return err
	}
	return c.appPage(http.StatusOK, appView{Secret: secret, Step: step})
}

func (c call) appPage(status int, v appView) (err error) {
	installation := "Tocsin"
	if _, host, found := strings.Cut(c.publicURL(), "://"); found {
		installation += " " + host
	}
	if v.Code, err = newQRCode(v.Secret.URL(installation, c.operator.User.Username)); err != nil {
		return err
	}
	return c.render(status, "factor-app", words.Of("Set up an authenticator app"), v)
}

// confirmApp adds the authenticator app. After the first factor it shows the recovery codes, only
// once.
func (c call) confirmApp() error {
	step := c.FormValue("step")
	codes, err := c.console.use.Factors.ConfirmApp(c.ctx, c.actor(), c.operator, c.token, step, c.FormValue("code"))
	if errors.Is(err, factors.ErrCode) {
		f, _ := c.refused(err)
		f.values = nil
		secret, err := c.console.use.Factors.BegunApp(c.ctx, c.operator, step)
		if err != nil {
			return err
		}
		return c.appPage(statusOf(f), appView{Secret: secret, Step: step, Form: f})
	}
	return c.factorAdded(codes, err)
}

// factorAdded answers after a factor was set up, with the recovery codes if there are new ones.
func (c call) factorAdded(codes []string, err error) error {
	if errors.Is(err, factors.ErrStep) {
		return c.factorsPage(http.StatusBadRequest, form{Failed: messageOf(factors.ErrStep.Error())})
	}
	if f, correctable := c.refused(err); correctable {
		return c.factorsPage(statusOf(f), f)
	}
	if err != nil {
		return err
	}
	if codes == nil {
		return c.done(c.path(factorsPath), "factor")
	}
	return c.render(http.StatusOK, "recovery-codes", words.Of("Recovery codes"), codes)
}

func (c call) removeApp() error {
	err := c.console.use.Factors.RemoveApp(c.ctx, c.actor(), c.operator, c.token)
	if errors.Is(err, factors.ErrNotFound) { // It has been removed already.
		err = nil
	}
	return c.answerForm(err, func(f form) error { return c.factorsPage(statusOf(f), f) }, c.path(factorsPath), "factor-removed")
}

// renewCodes shows the new recovery codes, only once.
func (c call) renewCodes() error {
	codes, err := c.console.use.Factors.RenewRecoveryCodes(c.ctx, c.actor(), c.operator)
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, "recovery-codes", words.Of("Recovery codes"), codes)
}
