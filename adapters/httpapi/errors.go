package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/adapters/web/admission"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/quotas"
)

const problemType = "application/problem+json"

// ownMethod is the method that Echo adds to the Allow header.
const ownMethod = "OPTIONS, "

// problem is an RFC 9457 document.
type problem struct {
	Type      string              `json:"type"`
	Title     string              `json:"title"`
	Status    int                 `json:"status"`
	Code      string              `json:"code"`
	Detail    string              `json:"detail"`
	Param     *string             `json:"param"`
	RequestID string              `json:"request_id"`
	Quota     quotas.Name         `json:"quota,omitempty"`
	Errors    map[string][]string `json:"errors,omitempty"`
	Checks    []check             `json:"checks,omitempty"`
}

// fail responds to an error of a handler or a middleware. Internal errors and timeouts are logged
// with the request id, and their text is not shown.
func (a *API) fail(c echo.Context, err error) {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = quotas.Refuse(quotas.Body, float64(tooLarge.Limit), 0)
	}
	if routing, ok := errors.AsType[*echo.HTTPError](err); ok && routing.Code == http.StatusNotFound {
		err = pathNotFound(c.Request().URL.RawPath)
	}
	p := a.problem(c, err)
	p.Checks, _ = c.Get(checksKey).([]check)
	header := c.Response().Header()
	switch p.Status {
	case http.StatusMethodNotAllowed:
		header.Set(echo.HeaderAllow, strings.TrimPrefix(header.Get(echo.HeaderAllow), ownMethod))
	case http.StatusUnauthorized:
		header.Set(echo.HeaderWWWAuthenticate, "Key")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		header.Set(echo.HeaderRetryAfter, web.RetryAfter(err))
	}
	contentType := problemType
	text, encodeErr := json.Marshal(p)
	if people, _ := c.Get(htmlKey).(bool); people {
		contentType = echo.MIMETextHTMLCharsetUTF8
		text, encodeErr = a.page.failure(p.Status, p.RequestID)
	}
	if encodeErr != nil {
		text = nil // Cannot happen: strings and numbers only.
	}
	header.Set(echo.HeaderContentType, contentType) // A list may have set another one.
	if err := c.Blob(p.Status, contentType, text); err != nil {
		a.observer.LogUndelivered(c, err)
	}
}

// problem returns the problem document of an error.
func (a *API) problem(c echo.Context, err error) problem {
	status, detail, fields := a.explain(c, err)
	known := problemOf(status, err)
	p := problem{
		Type: a.base(c.Request()) + known.page(), Title: http.StatusText(status), Status: status, Code: known.Code, Detail: detail,
		Param: known.where(c, err), RequestID: c.Response().Header().Get(echo.HeaderXRequestID), Errors: fields,
	}
	if p.Errors == nil && fault.KindOf(err) == fault.Invalid {
		p.Errors = map[string][]string{*p.Param: {detail}}
	}
	if exceeded, ok := errors.AsType[*quotas.Exceeded](err); ok {
		p.Quota = exceeded.Quota
	}
	return p
}

// explain returns the status, detail and fields of an error that a client may see.
func (a *API) explain(c echo.Context, err error) (status int, detail string, fields map[string][]string) {
	var routing *echo.HTTPError
	var known *fault.Error
	switch {
	case errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed:
		allowed := strings.TrimPrefix(c.Response().Header().Get(echo.HeaderAllow), ownMethod)
		return routing.Code, fmt.Sprintf("this path does not have the method %q; it has %s", truncate(c.Request().Method), allowed), nil
	case fault.KindOf(err) != fault.Internal && errors.As(err, &known):
		detail, fields = known.Error(), nil
		if known.Kind() == fault.Invalid {
			detail, fields = invalid(known)
		}
		if known.Kind() == fault.Unavailable && !errors.Is(err, admission.ErrOverloaded) { // Overload would flood the log.
			a.logUnavailable(c, err)
		}
		return web.Status(known.Kind()), detail, fields
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		a.observer.LogUnavailable(c, a.outages, err)
		return web.Status(fault.Unavailable), "the service took too long to answer", nil
	}
	a.observer.LogFailure(c, slog.LevelError, err)
	return web.Status(fault.Internal), "the service failed; its log has more under this request id", nil
}

// logUnavailable logs why a call cannot be served for now. Why the instance is not ready it logs
// when that changes: probes come every few seconds.
func (a *API) logUnavailable(c echo.Context, err error) {
	if !errors.Is(err, errNotReady) {
		a.observer.LogUnavailable(c, a.outages, err)
		return
	}
	level := slog.LevelDebug
	if c.Request().Context().Err() == nil && a.unready.changed(err.Error(), a.clock.Now()) {
		level = slog.LevelWarn
	}
	a.observer.LogFailure(c, level, err)
}

// maxDetail is the maximum number of messages in `detail`; `errors` has all.
const maxDetail = 3

// invalid returns the detail and fields of invalid input; nil if it is not about a field. Messages
// without a field beside others belong to the body.
func invalid(e *fault.Error) (detail string, fields map[string][]string) {
	if len(e.Fields()) == 0 {
		return e.Error(), nil
	}
	fields = map[string][]string{}
	count := 0
	for _, f := range e.Fields() {
		name := f.Name
		if name == "" {
			name = jsonbody.Body
		}
		fields[name] = append(fields[name], f.Messages...)
		count += len(f.Messages)
	}
	if count > maxDetail {
		return fmt.Sprintf("there are %d mistakes, see errors", count), fields
	}
	return e.Error(), fields
}
