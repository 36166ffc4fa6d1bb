package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/admission"
	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/audit"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/operators"
	"github.com/tocsin/tocsin/domain/requests"
	"github.com/tocsin/tocsin/domain/users"
)

// The errors of bodies.
var (
	errMediaType = fault.New(fault.Unsupported, "a body must be sent as Content-Type: application/json, in UTF-8")
	errEncoding  = fault.New(fault.Unsupported, "a body must be sent without Content-Encoding")
)

// call is the context of one request.
type call struct {
	echo.Context
	api *API
	ctx context.Context // for use cases: ends with the request or at the deadline of the call
	key access.Key

	place    *admission.Place // among the calls in progress; nil: there is no limit
	reserved *reservation     // memory reserved in api.bodyMemory for the body

	hasETag  bool             // GET of the path has an ETag
	rawBody  *[]byte          // the body, if it was read already; nil: it was not
	captured *requests.Answer // receives the response instead of the client; nil: the client receives it
}

// at returns the place in the tenancy that the path names.
func (c call) at() app.Path {
	return app.Path{Organization: web.Param(c, "org"), Project: web.Param(c, "prj"), Application: web.Param(c, "app")}
}

// organization returns the organization that the path names, or else that of the key.
func (c call) organization() string { return cmp.Or(web.Param(c, "org"), c.key.Scope.Organization) }

// actor returns the actor of the request, for the audit log.
func (c call) actor() audit.Actor {
	return audit.Actor{Name: c.key.Name, Key: c.key.ID, Address: c.address(), Via: audit.API}
}

// editor returns the actor without any rights, so that it cannot change members who have a role.
func (c call) editor() operators.Editor { return operators.Editor{Actor: c.actor()} }

// protected turns the refusal to change members who have a role, which is about the role of an
// editor, into the one for keys. sent are the members that the body names in `users`.
func protected(err error, sent ...users.MemberID) error {
	refused, ok := errors.AsType[*operators.HigherRoleError](err)
	if !ok {
		return err
	}
	refusal := users.ErrProtected.With("%s may not be changed: %s", strings.Join(refused.Usernames(), ", "), users.ErrProtected.Error())
	for i, id := range sent {
		if slices.ContainsFunc(refused.Members, func(m users.Member) bool { return m.ID == id }) {
			return refusal.On(fmt.Sprintf("users[%d]", i))
		}
	}
	return refusal
}

// manager returns the actor with the right of an organization's administrator.
func (c call) manager() operators.Editor {
	return operators.Editor{Actor: c.actor(), Level: operators.Administrator}
}

// answerDeleted responds to a call that deletes one object.
func (c call) answerDeleted(err error) error {
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, deleted{1})
}

func (c call) address() string { return c.api.guard.proxies.Address(c.Request()) }

// body reads the body; nil if there is none. It refuses a body that is too large, or not JSON by
// its headers.
func (c call) body() ([]byte, error) {
	return c.bodyOf(isJSON, errMediaType)
}

// bodyOf is body for other content types; refusal is the error for those that are not accepted.
func (c call) bodyOf(accepts func(contentType string) bool, refusal *fault.Error) ([]byte, error) {
	text, err := c.read(c.api.options.BodyLimit)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	r := c.Request()
	if coding := r.Header.Get(echo.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, errEncoding
	}
	if sent := r.Header.Get(echo.HeaderContentType); !accepts(sent) {
		if sent == "" {
			return nil, refusal
		}
		return nil, refusal.With("%s; it was sent as %q", refusal, truncate(sent))
	}
	if err := c.reserve(decodedMemory(text)); err != nil {
		return nil, err
	}
	return text, nil
}

// read reads a body of any type with at most limit bytes.
func (c call) read(limit int64) ([]byte, error) {
	if c.rawBody != nil {
		return *c.rawBody, nil
	}
	r := c.Request()
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	announced := max(0, r.ContentLength)
	if err := c.api.guard.countBody(c.key, int(announced), c.Response().Header()); err != nil {
		return nil, err
	}
	return c.receive(limit)
}

// object reads a body that must be a JSON object. Its Err must be checked before anything is done
// with its members.
func (c call) object() *jsonbody.Object { return objectOf(c.body()) }

// optionalObject is object for a body that may be missing.
func (c call) optionalObject() *jsonbody.Object {
	text, err := c.body()
	if len(text) == 0 {
		text = []byte("{}")
	}
	return objectOf(text, err)
}

// objectOf parses a body that was read with this error.
func objectOf(text []byte, err error) *jsonbody.Object {
	var body *jsonbody.Object
	if err == nil {
		body, err = jsonbody.ParseObject(text)
	}
	if err != nil {
		return jsonbody.Unreadable(err)
	}
	return body
}

// isJSON reports whether a content type is application/json. The `+json` types have other
// semantics, such as merge-patch.
func isJSON(contentType string) bool {
	media, parameters, err := mime.ParseMediaType(contentType)
	charset, named := parameters["charset"]
	return err == nil && media == "application/json" && (!named || strings.EqualFold(charset, "utf-8"))
}

// answer sends v as JSON.
func (c call) answer(status int, v any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer release(b)
	if err := encode(b, v); err != nil {
		return err
	}
	b.WriteByte('\n')
	return c.respond(status, b.Bytes())
}

// writeBody sends a complete response. A large one counts, because it is in memory until the client
// has read it. Other methods than GET have changed something and are not refused.
func (c call) writeBody(status int, contentType string, body []byte) error {
	if len(body) >= flushAt && c.Request().Method == http.MethodGet {
		done, err := c.api.guard.beginLargeAnswer(c.key)
		if err != nil {
			return err
		}
		defer done()
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	if err := c.Blob(status, contentType, body); err != nil {
		return undelivered(err)
	}
	return nil
}

func undelivered(err error) error { return fmt.Errorf("%w: %w", web.ErrUndelivered, err) }

// url returns the absolute URL of a path of this installation, given by its segments.
func (c call) url(segments ...string) string { return c.base() + "/" + web.Join(segments...) }

func (c call) base() string { return c.api.base(c.Request()) }

// base returns the base URL of this installation: the configured one, or else that of the request.
func (a *API) base(r *http.Request) string {
	if a.options.BaseURL != "" {
		return a.options.BaseURL
	}
	return a.guard.proxies.Scheme(r) + "://" + r.Host
}
