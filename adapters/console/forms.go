package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
)

// The maximum sizes of forms, in bytes: of forms for everyone, with room for a passkey; of most
// forms, with room for 64 KiB of metadata, indented and encoded; of templates; of lists of e-mail
// addresses, with as many as one API call may send; and of requests of the single sign-on provider.
const (
	maxPublicForm   = 32 << 10
	maxForm         = 512 << 10
	maxTemplateForm = 4 << 20
	maxEmailsForm   = 1 << 20
	maxMachineForm  = 64 << 10
)

// largestForm returns the size of the largest form that the route accepts, in bytes.
func (r Route) largestForm() int64 {
	switch {
	case r.Needs == operators.Everyone:
		return maxPublicForm
	case strings.Contains(r.Path, "/t/{channel}/"), strings.Contains(r.Path, "/partials/"), strings.HasSuffix(r.Path, "/trigger/html/"):
		return maxTemplateForm
	case strings.HasSuffix(r.Path, "/d/{list}/add/"):
		return maxEmailsForm
	case r.Recent:
		return 2 * maxForm // It may be sealed, which adds a third.
	}
	return maxForm
}

// tokenField is the hidden field with the CSRF token.
const tokenField = "form_token"

var (
	errForeignForm = fault.New(fault.Forbidden, "this form did not come from a page of this console, or its page is too old")
	errForm        = fault.New(fault.Invalid, "the form could not be read")
	errNotText     = fault.New(fault.Invalid, "the form holds a character that cannot be stored; go back and remove it")
)

// formToken returns the CSRF token of the session, or of the visit before signing in.
func (c call) formToken() string {
	if c.token == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(c.token))
	mac.Write([]byte("form")) // Documented never to fail.
	return hex.EncodeToString(mac.Sum(nil))
}

// checkForm refuses cross-site forms and forms without a valid token. It reads the form, up to
// limit bytes; of an upload only the fields before the file.
func (c *call) checkForm(limit int64) error {
	r := c.Request()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if err := c.console.origin.Check(r); err != nil {
		return fmt.Errorf("%w: %w", errForeignForm, err)
	}
	if err := c.readForm(limit); err != nil {
		return err
	}
	want := c.formToken()
	if want == "" || !hmac.Equal([]byte(r.PostForm.Get(tokenField)), []byte(want)) {
		return errForeignForm
	}
	return nil
}

// readForm reads the fields of the form.
func (c *call) readForm(limit int64) (err error) {
	r := c.Request()
	if c.console.options.BodyLimit > 0 {
		limit = min(limit, c.console.options.BodyLimit)
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); kind == echo.MIMEMultipartForm {
		r.PostForm, c.file, err = readUpload(r, limit)
	} else {
		r.Body = http.MaxBytesReader(c.Response().Writer, r.Body, limit)
		err = r.ParseForm()
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return err
	}
	switch {
	case err != nil:
		return errForm
	case !isText(r.PostForm):
		return errNotText
	}
	return nil
}

// isText reports whether all names and values of a form are valid text.
func isText(form url.Values) bool {
	invalid := func(s string) bool { return sanitize(s) != s }
	for name, texts := range form {
		if invalid(name) || slices.ContainsFunc(texts, invalid) {
			return false
		}
	}
	return true
}

// fields returns the form's fields.
func (c call) fields() url.Values {
	r := c.Request()
	return r.PostForm
}

// FormValue returns a field of the form's body; the query is ignored.
func (c call) FormValue(name string) string { return c.fields().Get(name) }

// values returns the values of a field of the form's body that may have several.
func (c call) values(name string) []string { return c.fields()[name] }

// selectedID returns the id selected in a field of the form, 0 for none.
func (c call) selectedID(name string) int64 { return parseID(c.FormValue(name)) }

// number returns a query parameter that is an id or a count; 0 if it is invalid.
func (c call) number(name string) int64 { return parseID(c.QueryParam(name)) }

// parseID parses an id; it returns 0 for an invalid one.
func parseID(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// formatID formats an id for a form or a path.
func formatID[T ~int64](id T) string { return strconv.FormatInt(int64(id), 10) }

// formatOptionalID formats an id for a form; empty for 0.
func formatOptionalID[T ~int64](id T) string {
	if id == 0 {
		return ""
	}
	return formatID(id)
}

// QueryParam returns a sanitized query parameter.
func (c call) QueryParam(name string) string { return sanitize(c.Context.QueryParam(name)) }

// query returns the sanitized query parameters.
func (c call) query() url.Values { return sanitizeValues(c.QueryParams()) }

func sanitizeValues(query url.Values) url.Values {
	all := make(url.Values, len(query))
	for name, texts := range query {
		for _, t := range texts {
			all.Add(sanitize(name), sanitize(t))
		}
	}
	return all
}

// sanitize removes invalid UTF-8 and NUL characters, which databases do not accept.
func sanitize(sent string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(sent, ""), "\x00", "")
}

// parseSwitch parses a form field that must be `true` or `false`.
func (c call) parseSwitch(name string) (bool, error) {
	switch c.FormValue(name) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errForm
}
