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

// The fields of the page that asks an operator to sign in again: the original form, the password,
// and the code of a second factor.
const (
	draftField   = "draft"
	currentField = "current"
	factorField  = "second_factor"
)

// confirmView is the page on which an operator signs in again before a form is processed.
type confirmView struct {
	Path    string // target of the original form
	Draft   string
	Factors app.AccountFactors
	Form    form
	Wait    words.Phrase // how long to wait after too many wrong passwords; empty: no wait
	// SignOn is the path of the provider, for operators who signed in there; empty: ask for the
	// password. Done says whether they are back.
	SignOn string
	Label  string
	Done   bool
}

// confirm requires a recent sign-in before a form is processed. Without one it answers with a page
// that asks for the password and the second factor, or for a passkey. The page contains the
// original form, encrypted; after the confirmation that form is processed. answered reports whether
// this page was sent; otherwise the caller continues.
//
// A form that already contains the current password needs no page if the user has no second factor.
func (c *call) confirm() (answered bool, err error) {
	draft, err := c.originalForm()
	if err != nil {
		return false, err
	}
	current := c.FormValue(currentField)
	if c.operator.Recent(c.console.clock.Now()) {
		c.replaceForm(draft, current)
		return false, nil
	}
	v := confirmView{Path: c.console.root + c.Request().URL.EscapedPath()}
	if v.Draft, err = c.sealDraft(draft); err != nil {
		return false, err
	}
	if c.operator.Method == operators.BySingleSignOn {
		return true, c.confirmAtProvider(v)
	}
	if v.Factors, err = c.console.use.Factors.OfAccount(c.ctx, c.operator); err != nil {
		return false, err
	}
	if c.FormValue(draftField) != "" && c.FormValue(passkeyField) != "" {
		if v.Form, err = c.signInAgainByPasskey(); err != nil {
			return false, err
		}
		if v.Form.HasFaults() {
			return true, c.confirmPage(web.Status(fault.Unauthenticated), v)
		}
		return c.resumeForm(draft, current)
	}
	code := c.FormValue(factorField)
	if current == "" || (code == "" && v.Factors.Any()) {
		return true, c.confirmPage(web.Status(fault.Unauthenticated), v)
	}
	if v.Wait, err = c.throttlePassword(c.operator.User.Username); err != nil {
		return false, err
	}
	if v.Wait != nil {
		return true, c.confirmPage(http.StatusTooManyRequests, v)
	}
	err = c.console.use.Operators.Reauthenticate(c.ctx, c.actor(), c.origin(), c.token, current, code)
	if early, ok := errors.AsType[operators.TooManyError](err); ok {
		v.Wait = c.throttled(early)
		return true, c.confirmPage(http.StatusTooManyRequests, v)
	}
	if f, correctable := c.refused(err); correctable {
		c.console.observer.LogRefusal(c, c.address(), "wrong password or second factor")
		f.values = nil // Passwords are not shown again.
		v.Form = f.renameField("code", factorField)
		return true, c.confirmPage(web.Status(fault.Unauthenticated), v)
	}
	if err != nil {
		return false, err
	}
	return c.resumeForm(draft, current)
}

// resumeForm continues with the original form after the operator signed in again.
func (c *call) resumeForm(draft url.Values, current string) (answered bool, err error) {
	c.operator.Authenticated = c.console.clock.Now()
	c.replaceForm(draft, current)
	return false, nil
}

func (c call) confirmPage(status int, v confirmView) error {
	return c.render(status, "confirm", words.Of("Sign in again"), v)
}

// originalForm returns the encrypted form of the confirmation page, or else the request's own form.
func (c call) originalForm() (url.Values, error) {
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
	plain, err := opener.Open(nil, nil, raw, c.draftPath())
	if err != nil {
		return nil, errForm
	}
	return url.ParseQuery(string(plain))
}

// replaceForm replaces the request's form with a draft. It keeps the current password.
func (c call) replaceForm(draft url.Values, current string) {
	if current != "" {
		draft.Set(currentField, current)
	}
	c.Request().PostForm = draft //nolint:forbidigo // It is the field of a request, not the function.
}

// sealDraft encrypts and authenticates a draft, because it may contain secrets, and binds it to its
// path.
func (c call) sealDraft(draft url.Values) (string, error) {
	sealer, err := c.sealer()
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(sealer.Seal(nil, nil, []byte(draft.Encode()), c.draftPath())), nil //nolint:gosec // The sealer generates its own nonce.
}

// sealer returns the cipher of this session.
func (c call) sealer() (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, []byte(c.token))
	mac.Write([]byte(draftField)) // Documented never to fail.
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// draftPath returns the path to which a draft is bound.
func (c call) draftPath() []byte { return []byte(c.Request().URL.EscapedPath()) }
