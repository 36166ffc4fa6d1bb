// Package tocsin is a client of the Tocsin API. Calls, bodies and answers are generated from its
// OpenAPI document and live in the package api; this package adds what every program needs around
// them: the key, repetition of what failed for the moment, typed errors, pages, a trigger that
// waits, and verification of webhooks.
package tocsin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tocsin/tocsin/clients/go/api"
)

// Client makes calls with one key. It may be used by several goroutines. Its methods are those of
// [api.ClientWithResponses]; a redirect and an answer of 400 or more are an [*Error], so that
// what they return without an error succeeded.
type Client struct {
	*api.ClientWithResponses
}

// Option changes how a client works.
type Option func(*transport)

// WithHTTPClient makes calls through another HTTP client than the default, whose calls end after 30
// seconds.
func WithHTTPClient(c *http.Client) Option { return func(t *transport) { t.client = c } }

// WithRetries says how often a call is repeated, 4 times by default, and for how long one pause may
// last, a minute by default. A longer pause that the service asks for is not waited for.
func WithRetries(times int, longestPause time.Duration) Option {
	return func(t *transport) { t.retries, t.longest = times, longestPause }
}

// WithFirstPause says how long the first pause between attempts lasts; each further one is twice as
// long. The default is 250 milliseconds.
func WithFirstPause(d time.Duration) Option { return func(t *transport) { t.first = d } }

// New returns a client of the service at a URL, such as https://tocsin.example.org.
func New(serviceURL, key string, options ...Option) (*Client, error) {
	u, err := url.Parse(serviceURL)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("tocsin: the URL of the service must begin with http:// or https://")
	case strings.TrimSpace(key) == "":
		return nil, errors.New("tocsin: a key is required")
	}
	t := &transport{
		client: &http.Client{Timeout: 30 * time.Second}, key: strings.TrimSpace(key),
		retries: 4, first: 250 * time.Millisecond, longest: time.Minute,
	}
	for _, o := range options {
		o(t)
	}
	// A redirect would turn a DELETE into a GET. The caller's HTTP client stays as it is.
	direct := *t.client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.client = &direct
	calls, err := api.NewClientWithResponses(serviceURL, api.WithHTTPClient(t))
	if err != nil {
		return nil, err
	}
	return &Client{calls}, nil
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
