package shoutrrr

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// Limits of what is taken from an answer.
const (
	longestAnswer = 1 << 20 // bytes
	longestPause  = 24 * time.Hour
)

// errSettled stops a service that tries again by itself: deliveries do that, and know when.
var errSettled = errors.New("the attempt has failed already")

// witness is the transport of one message. It gives the requests of a service the context that the service does not know of, and sees
// what the service does not tell: the status, and when to come back.
type witness struct {
	ctx      context.Context
	next     http.RoundTripper
	personal bool
	failed   *deliveries.Failure
}

func (w *witness) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip sends a request, unless one has failed before.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.failed != nil {
		if r.Body != nil {
			_ = r.Body.Close() // As a transport must, whatever it says.
		}
		return nil, errSettled
	}
	response, err := w.next.RoundTrip(r.WithContext(w.ctx))
	if err != nil {
		w.failed = deliveries.Unreachable("%w", err)
		return nil, err
	}
	response.Body = bounded{io.LimitReader(response.Body, longestAnswer), response.Body}
	if response.StatusCode >= 300 {
		w.failed = judge(response.StatusCode, w.personal)
		if w.failed.Temporary {
			w.failed.RetryAfter = retryAfter(response.Header.Get("Retry-After"), time.Now())
		}
	}
	return response, nil
}

// bounded is a body that ends at a limit.
type bounded struct {
	io.Reader
	io.Closer
}

// judge says what a status means (decisions 6). What goes wrong with the service itself is about the channel; so is a login, unless
// the address takes part in it.
func judge(status int, personal bool) *deliveries.Failure {
	said := "answered " + strconv.Itoa(status)
	if text := http.StatusText(status); text != "" {
		said += " " + text
	}
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		return deliveries.Unreachable("%s", said)
	case status == http.StatusUnauthorized && !personal:
		return deliveries.Unreachable("%s", said)
	}
	return deliveries.Refused("%s", said)
}

// retryAfter reads how long a service wants to be left alone: seconds, in whole or with a fraction, or a date. 0 when it does not say.
func retryAfter(header string, now time.Time) time.Duration {
	var pause time.Duration
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(header), 64); err == nil {
		pause = time.Duration(min(seconds, longestPause.Seconds()) * float64(time.Second))
	} else if date, err := http.ParseTime(header); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, 0), longestPause)
}
