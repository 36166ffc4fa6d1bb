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

// longestAnswer is how many bytes of an answer are read.
const longestAnswer = 1 << 20

// errSettled stops a service that retries by itself: deliveries have their own retries.
var errSettled = errors.New("the attempt has failed already")

// witness is the transport of one message. It gives the requests of a service a context, which the
// service lacks, and classifies the responses, of which services report little.
type witness struct {
	ctx      context.Context
	next     http.RoundTripper
	peer     *outbound.Peer
	judge    func(answer) *deliveries.Failure
	personal bool // the address is part of the login
	asked    bool // a request was made
	failed   *deliveries.Failure
}

func (w *witness) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: outbound.NoRedirects}
}

// RoundTrip sends a request, unless an earlier one failed.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.failed != nil {
		if r.Body != nil {
			_ = r.Body.Close() // A transport must close it.
		}
		return nil, errSettled
	}
	w.asked = true
	response, err := w.next.RoundTrip(r.WithContext(w.ctx))
	if err != nil {
		w.failed = w.broken(err)
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	_ = response.Body.Close() // What matters was read.
	if err != nil {
		w.failed = w.broken(err)
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	a := answer{status: response.StatusCode, body: body, personal: w.personal}
	if failed := w.judge(a); failed != nil {
		if failed.Temporary && failed.RetryAfter == 0 {
			failed.RetryAfter = retryAfter(response.Header.Get("Retry-After"), time.Now())
		}
		w.failed = w.peer.Tell(failed, a.words())
	}
	return response, nil
}

// broken classifies a request without a response: the service is unavailable for every message.
func (w *witness) broken(err error) *deliveries.Failure {
	failed := deliveries.Unreachable("%s", outbound.Words(err, w.peer.Reached())).WithMaybeAccepted(w.peer.Reached())
	if outer, found := errors.AsType[*url.Error](err); found { // It repeats the URL.
		err = outer.Err
	}
	failed.Detail = err
	return failed
}
