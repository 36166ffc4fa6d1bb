package twilio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits for reading a response.
const (
	maxAnswer = 64 << 10 // bytes
)

// channelErrors are the error codes about the account or its senders, not about a recipient. Some
// are limits that pass; the others persist until an operator changes a setting at Twilio or here.
// Messages wait until then. See https://www.twilio.com/docs/api/errors.
var channelErrors = []int{
	10001, // the account is not active
	14107, // too many messages
	20003, // wrong account or token
	20005, // the account is not active
	20404, // no such account, or a wrong base_url
	20429, // too many requests
	21212, // the sender is not a number
	21603, // no sender
	21606, // the sender is not ours, or cannot send
	21611, // the sender's queue is full
	21659, // the sender is not ours
	21660, // the sender belongs to another account
	21661, // the sender cannot send text messages
	21701, // no such messaging service
	21702, // the messaging service sends nothing
	21703, // the messaging service has no senders
	30001, // the queue is full
	30002, // the account is suspended
	63038, // the account's daily limit
}

// answer is the API's response when it does not accept a message.
type answer struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// noResponse classifies a request without a response: the API is unavailable for all messages.
func noResponse(ctx context.Context, err error, peer *outbound.Peer) *deliveries.Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return deliveries.Postponed("given up: %w", context.Cause(ctx))
	}
	words := outbound.Describe(err, peer.Reached())
	if outer, found := errors.AsType[*url.Error](err); found { // It contains the URL, which is the same for every message.
		err = outer.Err
	}
	failed := deliveries.Unreachable("%s", words).WithMaybeAccepted(peer.Reached())
	failed.Detail = err
	return failed
}

// classify classifies a response (decisions 6); nil: the message was accepted.
func classify(response *http.Response, peer *outbound.Peer, now time.Time) *deliveries.Failure {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // A part that cannot be read is ignored.
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return nil
	}
	var a answer
	if json.Unmarshal(text, &a) != nil {
		a = answer{} // Not Twilio: a proxy, or a wrong base_url.
	}
	words := "answered " + strconv.Itoa(status)
	said := words
	if a.Code != 0 {
		words += fmt.Sprintf(", error %d", a.Code)
		said = words + ": " + outbound.Quote(a.Message)
	}
	if !isChannelError(status, a.Code) {
		return peer.Redact(deliveries.Refused("%s", said), words)
	}
	unsure := outbound.MayHavePassedOn(status) || status == http.StatusInternalServerError && a.Code == 0
	failed := deliveries.Unreachable("%s", said).WithMaybeAccepted(unsure)
	failed.RetryAfter = outbound.RetryAfter(response.Header.Get("Retry-After"), now)
	return peer.Redact(failed, words)
}

// isChannelError reports whether a response is about the account or the API and not about a
// recipient. Without a code the API has not processed the message, except that services which are
// compatible with it may refuse a number so.
func isChannelError(status, code int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return slices.Contains(channelErrors, code)
	}
	return code == 0 || status >= 500 || status < 400 || slices.Contains(channelErrors, code)
}
