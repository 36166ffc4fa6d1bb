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

// headerIdempotencyKey makes a POST repeatable; headerReplayed marks the response to an earlier
// request.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotency-Replayed"
)

// ownIdempotency are the POST routes that handle an Idempotency-Key themselves, and why. For all
// others with an API key perform does that.
func ownIdempotency() map[string]string {
	return map[string]string{
		"/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/": "requests are kept together with the occurrences of a batch",
	}
}

// unrepeatable are the POST routes that do their work each time, whatever the Idempotency-Key, and
// why. They still accept one: clients send it with every POST.
func unrepeatable() map[string]string {
	const test = "it waits for a provider, for which no unit of work may wait"
	return map[string]string{"/api/o/{org}/c/{channel}/test/": test, "/api/o/{org}/p/{prj}/c/{channel}/test/": test}
}

// shownOnce are the POST routes whose responses hold a secret and so are not kept. The fact that a
// request was carried out is kept: repeating it is refused (requests.ErrShown), and nothing is
// created twice.
func shownOnce() []string {
	return []string{"/api/o/{org}/k/", "/api/o/{org}/k/{key}/rotate/", "/api/o/{org}/r/{username}/invite/"}
}

// Repeatable reports whether the responses of a route are kept for repeated requests.
func (r Route) Repeatable() bool {
	return r.Method == http.MethodPost && r.Grant != "" && ownIdempotency()[r.Path] == "" && unrepeatable()[r.Path] == ""
}

// perform calls the handler of a route. A request with an Idempotency-Key, or with a condition
// (If-Match, If-None-Match), runs in one unit of work: the check of the condition, the handler with
// all its use cases, and the response that is kept. A handler only has to write with call.answer;
// its use cases may run more than once. A route gets both by its row in the table:
//
//   - A POST is repeatable, unless it is one of ownIdempotency or unrepeatable.
//   - What GET of the same path answers is the noun that a change has to match. GET gets its
//     ETag, and 304, from call.answer.
func (a *API) perform(c call, r Route) error {
	if r.Grant == "" || r.Method == http.MethodGet {
		return r.handle(a, c)
	}
	wanted, err := conditionOf(c.Request().Header)
	if err != nil {
		return err
	}
	asks := r.Repeatable() && c.asksOnce()
	if wanted == nil && !asks {
		return r.handle(a, c)
	}
	text, err := c.read(a.options.BodyLimit)
	if err != nil {
		return err
	}
	c.text = &text
	var request *requests.Request
	if asks {
		if request, err = c.request(text); err != nil {
			return err
		}
	}
	var sent requests.Answer
	secret := slices.Contains(shownOnce(), r.Path)
	answer, repeated, err := a.use.Requests.Once(c.ctx, request, func(ctx context.Context) (requests.Answer, error) {
		in := c
		in.ctx, in.held = ctx, new(requests.Answer)
		if wanted != nil {
			current, err := a.current(in, r.Path)
			if errors.Is(err, errNoTag) {
				return requests.Answer{}, errNoTag.On(wanted.header())
			}
			if err != nil {
				return requests.Answer{}, err
			}
			if header := wanted.fails(current); header != "" {
				return requests.Answer{}, requests.ErrChanged.On(header)
			}
		}
		if err := r.handle(a, in); err != nil {
			return requests.Answer{}, err
		}
		sent = *in.held
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

// asksOnce reports whether a request has an Idempotency-Key.
func (c call) asksOnce() bool { return len(c.Request().Header.Values(headerIdempotencyKey)) > 0 }

// request is what makes a call repeatable. Two requests are the same when method, path, query and
// body are, whatever the body's white space and order of members. Numbers are compared as written.
func (c call) request(text []byte) (*requests.Request, error) {
	sent := c.Request().Header.Values(headerIdempotencyKey)
	if len(sent) > 1 {
		return nil, fault.Field(headerIdempotencyKey, "is there %d times; which of them counts is not clear", len(sent))
	}
	word, err := names.Label(headerIdempotencyKey, sent[0])
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
	asked := sha256.New()
	for _, part := range []string{c.Request().Method, strings.TrimSuffix(c.Request().URL.EscapedPath(), "/"), c.QueryParams().Encode()} {
		asked.Write([]byte(part + "\n"))
	}
	asked.Write(text)
	return &requests.Request{Key: c.key.ID, IdempotencyKey: word, Digest: [sha256.Size]byte(asked.Sum(nil))}, nil
}

// current returns the ETag that GET of a path would have within the unit of work of a call; empty
// when the object does not exist.
func (a *API) current(c call, path string) (string, error) {
	r, found := a.shows[path]
	if !found {
		return "", errNoTag
	}
	if !c.key.Granted(r.Grant) { // Otherwise conditions would reveal what the key may not read.
		return "", access.ErrNotGranted.With("a condition needs the permission to read what it is about: the API key lacks %s", r.Grant)
	}
	var held requests.Answer
	c.held = &held
	err := r.handle(a, c)
	if fault.KindOf(err) == fault.NotFound {
		return "", nil
	}
	return web.ETag(held.Body), err
}

// readers returns the GET routes by path, of those that take an API key.
func readers(all []Route) map[string]Route {
	found := map[string]Route{}
	for _, r := range all {
		if r.Method == http.MethodGet && r.Grant != "" && r.Grant != access.SystemPing {
			found[r.Path] = r
		}
	}
	return found
}

// respond sends a complete JSON response. What is read gets its ETag, and so does a change whose
// response is the same as that of GET.
func (c call) respond(status int, body []byte) error {
	if c.held != nil {
		*c.held = requests.Answer{Status: status, Body: append([]byte(nil), body...)}
		return nil
	}
	method := c.Request().Method
	read := method == http.MethodGet || method == http.MethodHead
	if status == http.StatusOK && c.shown && (read || method == http.MethodPatch || method == http.MethodPut) {
		tag := web.ETag(body)
		c.Response().Header().Set(headerETag, tag)
		if read && web.Unchanged(c.Request().Header, tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.whole(status, echo.MIMEApplicationJSON, body)
}
