package console

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
)

// welcomeView is the page behind a link to set a password.
type welcomeView struct {
	app.Welcome
	Path string
	Form form
	Wait bool
}

func (c call) showWelcome() error { return c.showWelcomeWith(http.StatusOK, welcomeView{}) }

func (c call) showWelcomeWith(status int, v welcomeView) error {
	token := web.Param(c, "token")
	w, err := c.console.use.Operators.Welcome(c.ctx, token)
	if err != nil {
		return err
	}
	v.Welcome, v.Path = w, c.path(Prefix)+web.Join("welcome", token)
	c.visit()
	return c.render(status, "welcome", "Welcome", v)
}

func (c call) acceptWelcome() error {
	if wait := c.console.attempts.Take(c.client()); wait > 0 {
		c.Response().Header().Set("Retry-After", web.RetryAfter(web.TooMany("", wait)))
		return c.showWelcomeWith(http.StatusTooManyRequests, welcomeView{Wait: true})
	}
	p, err := c.newPassword()
	if err == nil {
		err = c.console.use.Operators.Accept(c.ctx, audit.Actor{Address: c.address(), Via: audit.Console}, web.Param(c, "token"), p)
	}
	if f, mistaken := c.refused(err); mistaken {
		f.values = nil // Passwords are not shown again.
		return c.showWelcomeWith(web.Status(fault.Invalid), welcomeView{Form: f})
	}
	if err != nil {
		return err
	}
	return c.to(c.path(signInPath) + "?done=password")
}
