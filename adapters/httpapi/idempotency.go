package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/access"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/requests"
)

// headerIdempotencyKey makes a POST idempotent. headerReplayed marks a replayed response.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotency-Replayed"
)

// uncountedAnswer is the size up to which a stored answer does not count as a body, in bytes.
const uncountedAnswer = 16 << 10

// ownIdempotency returns the POST routes that handle an Idempotency-Key themselves, with the
// reason. perform does it for the others.
func ownIdempotency() map[string]string {
	return map[string]string{
		"/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/": "requests are kept together with the occurrences of a batch",
	}
}

// notIdempotent returns the POST routes that ignore the Idempotency-Key, with the reason. They
// accept one, because clients send it with every POST.
func notIdempotent() map[string]string {
	const test = "it waits for a provider, for which no unit of work may wait"
	return map[string]string{"/api/o/{org}/c/{channel}/test/": test, "/api/o/{org}/p/{prj}/c/{channel}/test/": test}
}

// pagedRoutes returns the POST routes that change many rows, page by page. Only their answers are
// stored in a unit of work with the Idempotency-Key.
func pagedRoutes() []string {
	return []string{"/api/o/{org}/p/{prj}/a/{app}/occurrences/{id}/retry/"}
}

// secretRoutes returns the POST routes whose responses contain a secret. These responses are not
// stored; a repeated request is refused (requests.ErrShown).
func secretRoutes() []string {
	return []string{"/api/o/{org}/k/", "/api/o/{org}/k/{key}/rotate/", "/api/o/{org}/r/{username}/invite/"}
}

// Repeatable reports whether the responses of a route are stored for repeated requests.
func (r Route) Repeatable() bool {
	return r.Method == http.MethodPost && r.Grant != "" && ownIdempotency()[r.Path] == "" && notIdempotent()[r.Path] == ""
}

// perform calls the handler of a route. A request with an Idempotency-Key or a condition (If-Match,
// If-None-Match) runs in one unit of work, with the check of the condition, the handler and the
// stored response. Its use cases may run more than once. Handlers respond with call.answer. The
// route table decides:
//
//   - A POST is repeatable, unless it is in ownIdempotency or notIdempotent.
//   - A POST in pagedRoutes is stored as soon as it is done, after its units of work.
//   - A condition is checked against the ETag of GET of the same path.
func (a *API) perform(c call, r Route) error {
	if r.Grant == "" || r.Method == http.MethodGet {
		return r.run(a, c)
	}
	wanted, err := conditionOf(c.Request().Header)
	if err != nil {
		return err
	}
	idempotent := r.Repeatable() && c.hasIdempotencyKey()
	if wanted == nil && !idempotent {
		return r.run(a, c)
	}
	text, err := c.read(a.options.BodyLimit)
	if err != nil {
		return err
	}
	c.rawBody = &text
	var request *requests.Request
	if idempotent {
		if request, err = c.request(c.QueryParams().Encode(), text); err != nil {
			return err
		}
	}
	var sent requests.Answer
	secret := slices.Contains(secretRoutes(), r.Path)
	once := a.use.Requests.Once
	if wanted == nil && slices.Contains(pagedRoutes(), r.Path) {
		once = a.use.Requests.InPages
	}
	answer, repeated, err := once(c.ctx, request, func(ctx context.Context) (requests.Answer, error) {
		in := c
		in.ctx, in.captured = ctx, new(requests.Answer)
		if wanted != nil {
			current, err := a.currentETag(in, r.Path)
			if errors.Is(err, errNoTag) {
				return requests.Answer{}, errNoTag.On(wanted.header())
			}
			if err != nil {
				return requests.Answer{}, err
			}
			if header := wanted.failedHeader(current); header != "" {
				return requests.Answer{}, requests.ErrChanged.On(header)
			}
		}
		if err := r.run(a, in); err != nil {
			return requests.Answer{}, err
		}
		sent = *in.captured
		if len(sent.Body) > uncountedAnswer { // Else small requests would fill the database.
			if err := a.guard.countBody(c.key, len(sent.Body), http.Header{}); err != nil {
				return requests.Answer{}, err
			}
		}
		if secret {
			return requests.Answer{Status: sent.Status, Body: []byte("null")}, nil
		}
		return sent, nil
	})
	if err != nil {
		return err
	}
	if secret && repeated {
		return requests.ErrShown
	}
	if secret {
		answer = sent
	}
	if repeated {
		c.Response().Header().Set(headerReplayed, "true")
	}
	return c.respond(answer.Status, answer.Body)
}

// hasIdempotencyKey reports whether a request has an Idempotency-Key.
func (c call) hasIdempotencyKey() bool {
	return len(c.Request().Header.Values(headerIdempotencyKey)) > 0
}

// request returns the idempotency key and digest of a call. Requests are equal if method, path,
// the given query and body are. White space and the order of members in the body do not matter;
// numbers are compared as written.
func (c call) request(query string, text []byte) (*requests.Request, error) {
	sent := c.Request().Header.Values(headerIdempotencyKey)
	if len(sent) > 1 {
		return nil, fault.Field(headerIdempotencyKey, "is given %d times; give it only once", len(sent))
	}
	if strings.TrimSpace(sent[0]) == "" {
		return nil, fault.Field(headerIdempotencyKey, "is empty")
	}
	key, err := names.Label(headerIdempotencyKey, sent[0])
	if err != nil {
		var faults fault.Fields
		faults.Add(headerIdempotencyKey, err)
		return nil, faults.Err()
	}
	if v, err := jsonbody.Parse(text); err == nil {
		if text, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	digest := sha256.New()
	for _, part := range []string{c.Request().Method, strings.TrimSuffix(c.Request().URL.EscapedPath(), "/"), query} {
		digest.Write([]byte(part + "\n"))
	}
	digest.Write(text)
	return &requests.Request{Key: c.key.ID, IdempotencyKey: key, Digest: [sha256.Size]byte(digest.Sum(nil))}, nil
}

// currentETag returns the ETag of GET of a path, in the unit of work of a call; empty if the object
// does not exist.
func (a *API) currentETag(c call, path string) (string, error) {
	r, found := a.readable[path]
	if !found {
		return "", errNoTag
	}
	if !c.key.Granted(r.Grant) { // Otherwise conditions would reveal data that the key may not read.
		return "", access.ErrNotGranted.With("a condition needs the permission to read what it is about: the API key lacks %s", r.Grant)
	}
	var held requests.Answer
	c.captured = &held
	err := r.run(a, c)
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Conflict && c.Request().Method == http.MethodDelete {
		return "", nil // DELETE takes no e-mail address: an ambiguous one is that of no object.
	}
	return web.ETag(held.Body), err
}

// readableRoutes returns the GET routes with an API key, by path.
func readableRoutes(all []Route) map[string]Route {
	found := map[string]Route{}
	for _, r := range all {
		if r.Method == http.MethodGet && r.Grant != "" && r.Grant != access.SystemPing {
			found[r.Path] = r
		}
	}
	return found
}

// respond sends a complete JSON response. It sets the ETag for GET, and for PATCH and PUT whose
// response equals that of GET.
func (c call) respond(status int, body []byte) error {
	if c.captured != nil {
		*c.captured = requests.Answer{Status: status, Body: append([]byte(nil), body...)}
		return nil
	}
	method := c.Request().Method
	read := method == http.MethodGet || method == http.MethodHead
	if status == http.StatusOK && c.hasETag && (read || method == http.MethodPatch || method == http.MethodPut) {
		tag := web.ETag(body)
		c.Response().Header().Set(headerETag, tag)
		if read && web.NotModified(c.Request().Header, tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.writeBody(status, echo.MIMEApplicationJSON, body)
}
