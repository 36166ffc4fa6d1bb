package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"

	"github.com/tocsin/tocsin/adapters/console/words"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

// The fields of the page that asks somebody to sign in again: what they had sent, the password, and
// the code of a second factor.
const (
	draftField   = "draft"
	currentField = "current"
	factorField  = "second_factor"
)

// confirmView is the page that asks somebody to sign in again before what they sent is done.
type confirmView struct {
	Path  string // where what they sent goes
	Draft string
	Held  app.HeldFactors
	Form  form
	Wait  words.Phrase // how long to wait after too many wrong passwords; empty: not at all
	// SignOn is the path of the provider, for whoever signed in there; empty: the password is asked
	// for. Done is whether they are back.
	SignOn string
	Label  string
	Done   bool
}

// confirm has whoever has not signed in recently do so again, on the way to what they have sent: it
// answers with a page that asks for the password, and for a second factor where there is one, or
// for a passkey instead of both, and carries the form along, and once that is right the form is
// what it was, at the path where it was sent. answered is whether the request is answered with that
// page; otherwise it goes on.
//
// A form that already holds the current password, as that of one's own password does, needs no page
// where there is no second factor.
func (c *call) confirm() (answered bool, err error) {
	draft, err := c.entered()
	if err != nil {
		return false, err
	}
	current := c.FormValue(currentField)
	if c.visitor.Recent(c.console.clock.Now()) {
		c.replaceForm(draft, current)
		return false, nil
	}
	v := confirmView{Path: c.console.root + c.Request().URL.EscapedPath()}
	if v.Draft, err = c.sealed(draft); err != nil {
		return false, err
	}
	if c.visitor.Method == operators.BySingleSignOn {
		return true, c.askProviderAgain(v)
	}
	if v.Held, err = c.console.use.Factors.Held(c.ctx, c.visitor); err != nil {
		return false, err
	}
	if c.FormValue(draftField) != "" && c.FormValue(passkeyField) != "" {
		if v.Form, err = c.signInAgainByPasskey(); err != nil {
			return false, err
		}
		if v.Form.Wrong() {
			return true, c.askAgain(web.Status(fault.Unauthenticated), v)
		}
		return c.goOn(draft, current)
	}
	code := c.FormValue(factorField)
	if current == "" || (code == "" && v.Held.Any()) {
		return true, c.askAgain(web.Status(fault.Unauthenticated), v)
	}
	if v.Wait, err = c.tooFast(c.visitor.User.Username); err != nil {
		return false, err
	}
	if v.Wait != nil {
		return true, c.askAgain(http.StatusTooManyRequests, v)
	}
	err = c.console.use.Operators.SignInAgain(c.ctx, c.actor(), c.origin(), c.token, current, code)
	if early, is := errors.AsType[operators.TooMany](err); is {
		v.Wait = c.refuse(early)
		return true, c.askAgain(http.StatusTooManyRequests, v)
	}
	if f, mendable := c.refused(err); mendable {
		c.console.observer.LogRefusal(c, c.address(), "wrong password or second factor")
		f.values = nil // Passwords are not shown again.
		v.Form = f.renamed("code", factorField)
		return true, c.askAgain(web.Status(fault.Unauthenticated), v)
	}
	if err != nil {
		return false, err
	}
	return c.goOn(draft, current)
}

// goOn goes on with what somebody had sent who has just signed in again.
func (c *call) goOn(draft url.Values, current string) (answered bool, err error) {
	c.visitor.Authenticated = c.console.clock.Now()
	c.replaceForm(draft, current)
	return false, nil
}

func (c call) askAgain(status int, v confirmView) error {
	return c.render(status, "confirm", words.Of("Sign in again"), v)
}

// entered is what somebody wants to send: what the page that asks for the password carries along,
// else the form as it is.
func (c call) entered() (url.Values, error) {
	sealed := c.FormValue(draftField)
	if sealed == "" {
		draft := url.Values{}
		for name, texts := range c.fields() {
			if name != factorField && name != tokenField {
				draft[name] = texts
			}
		}
		return draft, nil
	}
	opener, err := c.sealer()
	if err != nil {
		return nil, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, errForm
	}
	plain, err := opener.Open(nil, nil, raw, c.bound())
	if err != nil {
		return nil, errForm
	}
	return url.ParseQuery(string(plain))
}

// replaceForm makes a draft the form that was sent. The password stays, for the form that has such
// a field.
func (c call) replaceForm(draft url.Values, current string) {
	if current != "" {
		draft.Set(currentField, current)
	}
	c.Request().PostForm = draft //nolint:forbidigo // It is the field of a request, not the function.
}

// sealed makes a text of a draft which holds secrets that people have typed, so that no page shows
// them and nobody changes where they go.
func (c call) sealed(draft url.Values) (string, error) {
	sealer, err := c.sealer()
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(sealer.Seal(nil, nil, []byte(draft.Encode()), c.bound())), nil //nolint:gosec // The sealer makes a nonce of its own.
}

// sealer seals for this session alone.
func (c call) sealer() (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, []byte(c.token))
	mac.Write([]byte(draftField)) // Documented never to fail.
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// bound is the path that a draft is for.
func (c call) bound() []byte { return []byte(c.Request().URL.EscapedPath()) }
