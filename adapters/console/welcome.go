package console

import (
	"errors"
	"net/http"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/factors"
	"github.com/tocsin/tocsin/domain/operators"
)

// welcomeView is the page behind an organization's invitation link.
type welcomeView struct {
	app.InvitationReport
	Path string
	Form form
	Wait words.Phrase // how long to wait; empty: no wait
	Next string       // the path of the sign-in form that returns to this page
}

func (c call) showWelcome() error { return c.welcomePage(http.StatusOK, welcomeView{}) }

func (c call) welcomePage(status int, v welcomeView) error {
	token := web.Param(c, "token")
	w, err := c.console.use.Operators.ShowInvitation(c.ctx, token, c.operator)
	if err != nil {
		return err
	}
	v.InvitationReport, v.Path = w, c.link("welcome", token)
	v.Next = c.signInPathFor(v.Path)
	c.ensureVisit()
	return c.render(status, "welcome", words.Of("Welcome"), v)
}

// acceptWelcome accepts an invitation: with the account of the signed-in user, else with a new
// password.
func (c call) acceptWelcome() error {
	token := web.Param(c, "token")
	w, err := c.console.use.Operators.ShowInvitation(c.ctx, token, c.operator)
	if err != nil {
		return err
	}
	if w.Joins {
		if answered, err := c.confirm(); answered || err != nil {
			return err
		}
	}
	wait, err := c.throttlePassword(w.User.Username)
	if err != nil {
		return err
	}
	if wait != nil {
		return c.welcomePage(http.StatusTooManyRequests, welcomeView{Wait: wait})
	}
	by, done := audit.Actor{Address: c.address(), Via: audit.Console}, "password"
	if w.Joins {
		done, err = "joined", c.join(by, token, w)
	} else {
		var a app.SignInResult
		a, err = c.acceptWithPassword(by, token)
		next := c.link("o", w.Organization.Slug)
		switch {
		case err == nil && a.Step != "":
			return c.redirectToStep(a.Step, next)
		case err == nil && a.Session != "":
			return c.startSession(a, next)
		}
	}
	return c.answerForm(err, func(f form) error {
		f.values = nil // Passwords are not shown again.
		return c.welcomePage(statusOf(f), welcomeView{Form: f})
	}, c.path(signInPath), done)
}

// acceptWithPassword accepts an invitation with the password of the form.
func (c call) acceptWithPassword(by audit.Actor, token string) (app.SignInResult, error) {
	p, err := c.newPassword()
	if err != nil {
		return app.SignInResult{}, err
	}
	return c.console.use.Operators.Accept(c.ctx, by, c.origin(), token, p)
}

// beginWelcomePasskey shows the page on which the browser creates a passkey to accept an
// invitation.
func (c call) beginWelcomePasskey() error {
	if err := c.throttlePasskey(); err != nil {
		return err
	}
	token := web.Param(c, "token")
	a, err := c.console.use.Factors.BeginInvitedPasskey(c.ctx, token)
	if f, correctable := c.refused(err); correctable {
		return c.welcomePage(statusOf(f), welcomeView{Form: f})
	}
	if err != nil {
		return err
	}
	here := c.link("welcome", token)
	return c.render(http.StatusOK, "factor-passkey", words.Of("Add a passkey"),
		passkeyView{Options: string(a.Options), Step: a.Step, To: here + "passkey/confirm/", Back: here})
}

// confirmWelcomePasskey signs in a user who has just created a passkey with an invitation.
func (c call) confirmWelcomePasskey() error {
	if err := c.throttlePasskey(); err != nil {
		return err
	}
	token := web.Param(c, "token")
	w, err := c.console.use.Operators.ShowInvitation(c.ctx, token, c.operator)
	if err != nil {
		return err
	}
	by := audit.Actor{Address: c.address(), Via: audit.Console}
	admitted, err := c.console.use.Factors.AcceptByPasskey(c.ctx, by, c.origin(), token, c.FormValue("step"), c.FormValue("name"), c.passkeyAnswer())
	if errors.Is(err, factors.ErrStep) {
		return c.welcomePage(http.StatusBadRequest, welcomeView{Form: form{Failed: messageOf(factors.ErrStep.Error())}})
	}
	if f, correctable := c.refused(err); correctable {
		f.values = nil
		return c.welcomePage(statusOf(f), welcomeView{Form: f})
	}
	if err != nil {
		return err
	}
	return c.startSession(admitted, c.link("o", w.Organization.Slug))
}

// join accepts an invitation with the account of the signed-in user and ends their sessions.
func (c call) join(by audit.Actor, token string, w app.InvitationReport) error {
	var next *operators.Password
	if w.NewPassword {
		p, err := c.newPassword()
		if err != nil {
			return err
		}
		next = &p
	}
	return c.console.use.Operators.Join(c.ctx, by, token, c.operator, next)
}
