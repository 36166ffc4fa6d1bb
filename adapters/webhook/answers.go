package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits for reading a response.
const (
	maxAnswer = 64 << 10 // bytes that are read, so that the connection can be reused
)

// noResponse classifies a request without a response. It is a failure of this target, not of the
// channel, because other recipients have other targets.
func noResponse(ctx context.Context, err error, peer *outbound.Peer) *deliveries.Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return deliveries.Postponed("given up: %w", context.Cause(ctx))
	}
	words := outbound.Describe(err, peer.Reached())
	failed := deliveries.Unanswered("%s", words)
	if _, forbidden := errors.AsType[*outbound.ForbiddenError](err); forbidden {
		failed = deliveries.Unsendable("%s", words)
	}
	// The outer error contains the address, which the delivery has anyway, and which may contain a
	// password.
	if outer, found := errors.AsType[*url.Error](err); found {
		err = outer.Err
	}
	failed.Detail = err
	return failed
}

// classify classifies a response (decisions 6); nil: the message was accepted.
func classify(response *http.Response, peer *outbound.Peer, now time.Time) *deliveries.Failure {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // A part that cannot be read is not quoted.
	status := response.StatusCode
	words := "answered " + strconv.Itoa(status)
	said := words
	if quoted := outbound.Quote(strings.ToValidUTF8(string(text), "")); quoted != "" {
		said += ": " + quoted
	}
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return deliveries.Refused("answered %d: redirects are not followed", status)
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		failed := deliveries.Postponed("%s", said)
		failed.RetryAfter = outbound.RetryAfter(response.Header.Get("Retry-After"), now)
		return peer.Redact(failed, words)
	}
	return peer.Redact(deliveries.Refused("%s", said), words)
}
