package shoutrrr_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/shoutrrr"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// brokenBodies is the Internet, whose connections break before the end of each body but those of
// joins.
type brokenBodies struct{}

func (brokenBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := world.RoundTrip(r)
	if err == nil && !strings.Contains(r.URL.Path, "/join/") {
		response.Body = io.NopCloser(io.MultiReader(response.Body, iotest.ErrReader(errors.New("connection reset"))))
	}
	return response, err
}

func dispatchBroken(t *testing.T, service string) error {
	t.Helper()
	row := services[service]
	d, err := shoutrrr.Over(func(outbound.Reach) http.RoundTripper { return brokenBodies{} }).Open(channel(row.url))
	require.NoError(t, err)
	return d.Dispatch(t.Context(), message(row.address))
}

// TestBrokenBodies checks that a message is not sent again because the end of a body is missing
// that says nothing about it.
func TestBrokenBodies(t *testing.T) { //nolint:paralleltest // they share the Internet
	reports := map[string]bool{"bark": true, "join": true, "lark": true, "pushbullet": true, "rocketchat": true, "slack": true, "slack webhook": true,
		"teams": true, "telegram": true, "wecom": true}
	for name := range services {
		t.Run(name, func(t *testing.T) {
			answers(func(r *http.Request) reply {
				if strings.Contains(r.URL.Path, "/join/") {
					return reply{http.StatusOK, `{"room_id": "!a:example.org"}`, nil}
				}
				return reply{http.StatusOK, `{"`, nil}
			})
			err := dispatchBroken(t, name)
			if !reports[name] {
				require.NoError(t, err)
				return
			}
			failure := deliveries.FailureOf(err)
			assert.True(t, failure.Temporary && failure.Channel, failure)
			assert.True(t, failure.MaybeAccepted)
		})
	}
	for name, c := range map[string]struct {
		service string
		status  int
		want    kind
	}{
		"TooManyRequests":        {"ntfy", 429, unreachable},
		"ARefusal":               {"ntfy", 404, refused},
		"ARefusalByUnknownWords": {"pushover", 400, unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			answers(says(c.status, `{"tok`, "Retry-After", "7"))
			failure := deliveries.FailureOf(dispatchBroken(t, c.service))
			assert.Equal(t, c.want, kind{failure.Temporary, failure.Channel}, failure)
			if c.status == 429 {
				assert.Equal(t, 7*time.Second, failure.RetryAfter)
				assert.False(t, failure.MaybeAccepted)
			}
		})
	}
}
