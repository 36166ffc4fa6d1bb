package console

import (
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

const accountPath = Prefix + "account/"

// accountView is the account of the signed-in user.
type accountView struct {
	Form      form
	Sessions  []sessionView
	Wait      words.Phrase // how long to wait after too many wrong passwords; empty: no wait
	SignOn    bool         // the user signed in with single sign-on
	Language  form
	Languages []option // languages
}

type sessionView struct {
	operators.Session
	ID      string // the digest of its token, in hex
	Current bool   // the session of this request
}

func (c call) showAccount() error { return c.accountPage(http.StatusOK, accountView{}) }

func (c call) accountPage(status int, v accountView) error {
	found, err := c.console.use.Operators.Sessions(c.ctx, c.operator)
	if err != nil {
		return err
	}
	v.Language, v.Languages = newForm("language", c.chosenLanguage()), languages()
	v.SignOn = c.operator.Method == operators.BySingleSignOn
	this, err := operators.ParseToken(c.token)
	if err != nil {
		return err
	}
	for _, s := range found {
		v.Sessions = append(v.Sessions, sessionView{Session: s, ID: hex.EncodeToString(s.Digest[:]), Current: s.Digest == this})
	}
	return c.render(status, "account", words.Of("Your account"), v)
}

func (c call) changePassword() error {
	wait, err := c.throttlePassword(c.operator.User.Username)
	if err != nil {
		return err
	}
	if wait != nil {
		return c.accountPage(http.StatusTooManyRequests, accountView{Wait: wait})
	}
	p, err := c.newPassword()
	if err == nil {
		err = c.console.use.Operators.ChangePassword(c.ctx, c.actor(), c.origin(), c.token, c.FormValue("current"), p)
	}
	if early, ok := errors.AsType[operators.TooManyError](err); ok {
		return c.accountPage(http.StatusTooManyRequests, accountView{Wait: c.throttled(early)})
	}
	return c.answerForm(err, func(f form) error {
		f.values = nil // Passwords are not shown again.
		return c.accountPage(statusOf(f), accountView{Form: f})
	}, c.path(accountPath), "new-password")
}

// newPassword reads a new password, typed twice.
func (c call) newPassword() (operators.Password, error) {
	var faults fault.Fields
	p, err := operators.NewPassword("password", c.FormValue("password"))
	faults.Add("password", err)
	if err == nil && c.FormValue("password") != c.FormValue("again") {
		faults.Addf("again", "differs from the new password")
	}
	return p, faults.Err()
}

// languages returns the options of the language field. Each language has its own name for itself.
func languages() []option {
	all := []option{{"", words.Of("The browser's language")}}
	for i, tag := range words.Offered {
		all = append(all, option{tag.String(), words.Names[i]})
	}
	return all
}

// chooseLanguage stores the language in the account, and in a cookie for the pages before signing
// in.
func (c call) chooseLanguage() error {
	chosen := c.FormValue("language")
	if !slices.ContainsFunc(languages(), func(o option) bool { return o.Value == chosen }) {
		return errForm
	}
	if err := c.console.use.Operators.SetLanguage(c.ctx, c.actor(), c.operator, chosen); err != nil {
		return err
	}
	k := c.cookie(languageCookie, chosen) //nolint:gosec // Secure is set if the browser uses https.
	if chosen != "" {
		k.MaxAge = int(languageLife.Seconds())
	}
	c.SetCookie(k)
	return c.done(c.path(accountPath), "saved")
}

// languageLife is how long a browser keeps the chosen language.
const languageLife = 365 * 24 * time.Hour

// endSession ends one session, possibly this one.
func (c call) endSession() error {
	raw, err := hex.DecodeString(c.FormValue("session"))
	var d operators.Digest
	if err != nil || len(raw) != len(d) {
		return errForm
	}
	copy(d[:], raw)
	if this, err := operators.ParseToken(c.token); err == nil && this == d {
		if err := c.console.use.Operators.SignOut(c.ctx, c.actor(), c.token); err != nil {
			return err
		}
		return c.signedOut()
	}
	err = c.console.use.Operators.EndSession(c.ctx, c.actor(), c.operator, d)
	if err != nil && !errors.Is(err, operators.ErrNoSession) { // It has ended already.
		return err
	}
	return c.done(c.path(accountPath), "ended")
}
