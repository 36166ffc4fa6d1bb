package oidc

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tocsin/tocsin/domain/signon"
)

// maxResponse is the maximum size of a response of the provider, in bytes.
const maxResponse = 1 << 20

// newClient returns a client with timeouts, a limit on responses, and no redirects.
func newClient() *http.Client {
	return &http.Client{
		Timeout: callTimeout,
		Transport: limitedTransport{&http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: callTimeout / 2}).DialContext,
			TLSHandshakeTimeout: callTimeout / 2,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        10,
			IdleConnTimeout:     90 * time.Second,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("oidc: the provider redirects, which is not followed")
		},
	}
}

// limitedTransport limits the size of the responses of another transport.
type limitedTransport struct{ http.RoundTripper }

// RoundTrip calls the other transport and limits the size of the body.
func (l limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &limitedBody{ReadCloser: answer.Body, left: maxResponse}
	return answer, nil
}

// limitedBody is a body whose reader fails when it is too long.
type limitedBody struct {
	io.ReadCloser

	left int64
}

var errTooLong = errors.New("oidc: the answer of the provider is too long")

// Read reads at most the rest of the limit.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// unavailableError is the reason why the provider could not be reached. Users see
// signon.ErrUnavailable; the log has the cause.
type unavailableError struct{ cause error }

func unavailable(cause error) error { return unavailableError{cause} }

func (e unavailableError) Error() string   { return "single sign-on: " + e.cause.Error() }
func (e unavailableError) Unwrap() []error { return []error{signon.ErrUnavailable, e.cause} }

// rejected returns signon.ErrAnswer with the reason.
func rejected(why string) error {
	return signon.ErrAnswer.With("%s: %s", signon.ErrAnswer.Error(), why)
}

// exchangeError distinguishes a provider that refuses a code from one that is unavailable.
func exchangeError(err error) error {
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is && refused.Response != nil && refused.Response.StatusCode < http.StatusInternalServerError {
		code := refused.ErrorCode
		if code == "" || len(code) > 40 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" { // Only such a code is shown.
			code = "no reason given"
		}
		return rejected("the provider does not take the code (" + code + ")")
	}
	return unavailable(err)
}

// tokenError returns the reason why a token is refused.
func tokenError(err error) error {
	switch {
	case errors.Is(err, signon.ErrUnavailable), errors.Is(err, signon.ErrAnswer):
		return err
	case isExpired(err):
		return rejected("the token has expired")
	}
	return rejected("the token does not hold")
}

func isExpired(err error) bool { _, is := errors.AsType[*oidc.TokenExpiredError](err); return is }
