package shoutrrr

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// maxAnswer is the number of bytes of a response that are read.
const maxAnswer = 1 << 20

// errFailed stops a service that retries by itself, because deliveries have their own retries.
var errFailed = errors.New("the attempt has failed already")

// messageTransport is the transport of one message. It adds the context to the requests, because
// the library's services take none. It classifies the responses, because the services report only
// little about them.
type messageTransport struct {
	ctx            context.Context
	next           http.RoundTripper
	peer           *outbound.Peer
	service        service
	addressInLogin bool // the address is part of the login
	skip           int  // how many requests were accepted in earlier attempts
	accepted       int  // how many requests were accepted, also in earlier attempts
	delivered      bool // one of them has the message
	sent           bool // a request was made
	failed         *deliveries.Failure
}

func (w *messageTransport) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: outbound.NoRedirects}
}

// RoundTrip sends a request, unless an earlier one failed. It accepts requests itself that the
// service accepted in an earlier attempt.
func (w *messageTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.failed != nil {
		closeBody(r)
		return nil, errFailed
	}
	w.sent = true
	if w.accepted < w.skip {
		closeBody(r)
		w.accept(r)
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
	}
	response, err := w.next.RoundTrip(r.WithContext(w.ctx))
	if err != nil {
		w.failed = w.noResponse(err)
		return nil, err
	}
	body, broken := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	_ = response.Body.Close() // The body was read.
	response.Body = io.NopCloser(bytes.NewReader(body))
	a := answer{status: response.StatusCode, body: body, addressInLogin: w.addressInLogin}
	failed := w.classify(a)
	if broken != nil && w.needsBody(r, a, failed) {
		w.failed = w.noResponse(broken)
		return nil, broken
	}
	if failed != nil {
		if failed.Temporary && failed.RetryAfter == 0 {
			failed.RetryAfter = retryAfter(response.Header.Get("Retry-After"), time.Now())
		}
		failed.MaybeAccepted = failed.MaybeAccepted && w.hasMessage(r)
		w.failed = w.peer.Redact(failed, a.words())
	} else {
		w.accept(r)
	}
	return response, nil
}

// needsBody reports whether the rest of a body might change how its response is classified.
func (w *messageTransport) needsBody(r *http.Request, a answer, failed *deliveries.Failure) bool {
	if a.status >= 200 && a.status < 300 {
		return w.service.reports || !w.hasMessage(r)
	}
	return w.service.classify != nil && !failed.Temporary
}

func (w *messageTransport) classify(a answer) *deliveries.Failure {
	if w.service.classify == nil {
		return byStatus(a)
	}
	return w.service.classify(a)
}

// accept records that a request was accepted.
func (w *messageTransport) accept(r *http.Request) {
	w.accepted++
	w.delivered = w.delivered || w.hasMessage(r)
}

// hasMessage reports whether a request has the message.
func (w *messageTransport) hasMessage(r *http.Request) bool {
	return w.service.prepares == nil || !w.service.prepares(r)
}

// closeBody closes the body of a request that is not sent, as a transport must.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// noResponse classifies a request without a response: the service is unavailable for all messages.
func (w *messageTransport) noResponse(err error) *deliveries.Failure {
	failed := deliveries.Unreachable("%s", outbound.Describe(err, w.peer.Reached())).WithMaybeAccepted(w.peer.Reached())
	if outer, found := errors.AsType[*url.Error](err); found { // It repeats the URL.
		err = outer.Err
	}
	failed.Detail = err
	return failed
}
