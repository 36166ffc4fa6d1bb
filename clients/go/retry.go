package tocsin

import (
	"crypto/rand"
	"errors"
	"io"
	"math"
	random "math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// channelTest matches the paths of the calls that send a real message each time, whatever their
// Idempotency-Key.
var channelTest = regexp.MustCompile(`/c/[^/]+/test/$`)

// enrollment matches the paths of the calls that make no duplicates by themselves. Without an
// Idempotency-Key the service may do several of them together, and keeps no answer.
var enrollment = regexp.MustCompile(`/v1/user/[^/]+/(bulk/)?$|/a/[^/]+/register/$`)

// transport sends requests with the key, repeats what failed for the moment, and turns refusals
// into errors.
type transport struct {
	client         *http.Client
	key            string
	retries        int
	first, longest time.Duration
}

// Do implements [api.HttpRequestDoer].
func (t *transport) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Key "+t.key)
	_, named := r.Header["Idempotency-Key"] // The service refuses an empty one.
	once := r.Method == http.MethodPost && channelTest.MatchString(r.URL.Path)
	if once {
		r.Header.Del("Idempotency-Key") // net/http itself may repeat a call that has one.
	} else if r.Method == http.MethodPost && !named && !enrollment.MatchString(r.URL.Path) {
		// All attempts of one call have the same key, so that the service does it once.
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	for attempt := 0; ; attempt++ {
		response, err := t.client.Do(r) //nolint:gosec // the caller names the service
		if err == nil && (response.StatusCode < http.StatusMultipleChoices || response.StatusCode == http.StatusNotModified) {
			return response, nil
		}
		wait, lost := t.backoff(attempt), true // The service may have done a call whose answer is lost.
		if err == nil {
			refusal := readError(response)
			err, lost = refusal, refusal.Status == http.StatusBadGateway || refusal.Status == http.StatusGatewayTimeout
			if !refusal.Temporary() {
				return nil, err
			}
			wait = max(wait, refusal.RetryAfter)
		}
		if attempt >= t.retries || once && lost || wait > t.longest || r.Context().Err() != nil {
			return nil, err
		}
		if pause(r.Context(), wait) != nil {
			return nil, err
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		} else if r.Body != nil && r.Body != http.NoBody {
			return nil, err // A body that can be read once cannot be sent again.
		}
	}
}

// backoff is how long to wait after an attempt: twice as long each time, cut by chance to between
// half and all of it.
func (t *transport) backoff(attempt int) time.Duration {
	d := min(t.first<<min(attempt, 16), t.longest)
	return d/2 + time.Duration(random.Int64N(int64(d/2)+1)) //nolint:gosec // no secret, only chance
}

// retryAfter reads the header, which holds seconds or a date. More than a Duration can hold is the
// longest one.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	seconds, err := strconv.ParseInt(value, 10, 64)
	if (err == nil || errors.Is(err, strconv.ErrRange)) && seconds > 0 {
		return time.Duration(min(seconds, int64(math.MaxInt64/time.Second))) * time.Second
	}
	if moment, err := http.ParseTime(value); err == nil {
		return max(time.Until(moment), 0)
	}
	return 0
}

// drained reads at most so much of a body and closes it.
func drained(body io.ReadCloser, most int64) []byte {
	defer body.Close()
	text, _ := io.ReadAll(io.LimitReader(body, most)) // What came is told; more cannot be had.
	return text
}
