package console

import (
	"net/http"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/audit"
)

// welcomeView is the page behind a link to set a password.
type welcomeView struct {
	app.Welcome
	Path string
	Form form
	Wait bool
}

func (c call) showWelcome() error { return c.welcomePage(http.StatusOK, welcomeView{}) }

func (c call) welcomePage(status int, v welcomeView) error {
	token := web.Param(c, "token")
	w, err := c.console.use.Operators.Welcome(c.ctx, token)
	if err != nil {
		return err
	}
	v.Welcome, v.Path = w, c.link("welcome", token)
	c.visit()
	return c.render(status, "welcome", "Welcome", v)
}

func (c call) acceptWelcome() error {
	if c.tooFast() {
		return c.welcomePage(http.StatusTooManyRequests, welcomeView{Wait: true})
	}
	p, err := c.newPassword()
	if err == nil {
		err = c.console.use.Operators.Accept(c.ctx, audit.Actor{Address: c.address(), Via: audit.Console}, web.Param(c, "token"), p)
	}
	return c.settle(err, func(f form) error {
		f.values = nil // Passwords are not shown again.
		return c.welcomePage(statusOf(f), welcomeView{Form: f})
	}, c.path(signInPath), "password")
}
