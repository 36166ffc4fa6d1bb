package webhook

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tocsin/tocsin/adapters/webhook/guard"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits of what is taken from an answer.
const (
	longestAnswer = 64 << 10 // bytes that are read so that the connection can be used again
	longestQuote  = 200      // characters that a failure repeats
	longestPause  = 24 * time.Hour
)

// broken says what it means that there was no answer. It is always about this target and never about the channel: another recipient's
// target is another host.
func broken(ctx context.Context, err error) *deliveries.Failure {
	if forbidden, found := errors.AsType[*guard.ForbiddenError](err); found {
		return deliveries.Refused("%w", forbidden)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return deliveries.Postponed("given up: %w", context.Cause(ctx))
	}
	// The outer error repeats the address, which the delivery names already and which may hold a password.
	if outer, found := errors.AsType[*url.Error](err); found {
		if outer.Timeout() {
			return deliveries.Postponed("no answer in time")
		}
		err = outer.Err
	}
	if unknown, found := errors.AsType[*net.DNSError](err); found {
		return deliveries.Postponed("the host %q is not known: %s", unknown.Name, unknown.Err) // and not which server said so
	}
	return deliveries.Postponed("%w", err)
}

// judge says what an answer means (decisions 6); nil: the message was taken.
func judge(response *http.Response, now time.Time) *deliveries.Failure {
	text, _ := io.ReadAll(io.LimitReader(response.Body, longestAnswer)) // What cannot be read is not quoted.
	status := response.StatusCode
	said := "answered " + strconv.Itoa(status)
	if words := quote(text); words != "" {
		said += ": " + words
	}
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return deliveries.Refused("answered %d: redirects are not followed", status)
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		failed := deliveries.Postponed("%s", said)
		failed.RetryAfter = retryAfter(response.Header.Get("Retry-After"), now)
		return failed
	}
	return deliveries.Refused("%s", said)
}

// retryAfter reads how long a target wants to be left alone: seconds or a date. 0 when it does not say.
func retryAfter(header string, now time.Time) time.Duration {
	var pause time.Duration
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil {
		pause = time.Duration(min(seconds, int(longestPause/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, 0), longestPause)
}

// quote makes a line of an answer that can be shown to an operator.
func quote(text []byte) string {
	s := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(text), ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if runes := []rune(s); len(runes) > longestQuote {
		return string(runes[:longestQuote]) + "…"
	}
	return s
}
