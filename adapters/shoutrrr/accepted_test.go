package shoutrrr_test

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/domain/deliveries"
)

const twoChats = "telegram://12345678:Ab_cdefghijklmnopqrstuvwxyz0123456@telegram?chats=-1001,-1002"

// TestRetryAfterPartOfTheTargets checks that a retry leaves out the requests that were accepted.
func TestRetryAfterPartOfTheTargets(t *testing.T) { //nolint:paralleltest // they share the Internet
	for name, c := range map[string]struct {
		url     string
		targets []string // in the URLs or bodies of the requests
	}{
		"telegram":   {twoChats + ",-1003", []string{"-1001", "-1002", "-1003"}},
		"ifttt":      {"ifttt://s3cretkey/?events=one,two,three&value1=x", []string{"/one/", "/two/", "/three/"}},
		"pushbullet": {"pushbullet://tokentokentokentokentokentokentoke/phone/tablet/laptop", []string{`"phone"`, `"tablet"`, `"laptop"`}},
		"discord":    {"discord://t0kent0kent0ken@123456789", []string{"#1#", "#8#", "#14#"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			refusing := false // the second target
			answers(func(r *http.Request) reply {
				e := world.seen[len(world.seen)-1]
				for n, target := range c.targets {
					if !strings.Contains(r.URL.String()+e.body, target) {
						continue
					}
					got = append(got, target)
					if n == 1 && refusing {
						return reply{http.StatusTooManyRequests, `{"ok": false}`, []string{"Retry-After", "5"}}
					}
				}
				return reply{http.StatusOK, `{"ok": true, "type": "note", "active": true}`, nil}
			})
			driver := overWorld()
			// Each attempt has a new dispatcher, because one without work is closed.
			dispatch := func(id string) error {
				d, err := driver.Open(channel(c.url))
				require.NoError(t, err)
				m := message("C0123456789")
				if m.ID = id; name == "discord" {
					m.Text = longText()
				}
				return d.Dispatch(t.Context(), m)
			}
			refusing = true
			for range 2 {
				var failure *deliveries.Failure
				require.ErrorAs(t, dispatch("1"), &failure)
				assert.Equal(t, kind{true, true}, kind{failure.Temporary, failure.Channel}, failure)
				assert.True(t, failure.MaybeAccepted, "another member of the pool must not send it at once")
			}
			assert.Equal(t, []string{c.targets[0], c.targets[1], c.targets[1]}, got)

			refusing, got = false, nil
			require.NoError(t, dispatch("2"))
			assert.Equal(t, c.targets, got, "another message goes to all")
			got = nil
			require.NoError(t, dispatch("1"))
			assert.Equal(t, c.targets[1:], got)
			got = nil
			require.NoError(t, dispatch("1"))
			assert.Equal(t, c.targets, got, "a message that was sent is forgotten")
		})
	}
}

// TestRetryOfMatrix checks that Matrix gets all requests again: it recognizes those of messages,
// and the driver needs the responses to the others.
func TestRetryOfMatrix(t *testing.T) { //nolint:paralleltest // they share the Internet
	var got []string
	refusing := true
	answers(func(r *http.Request) reply {
		got = append(got, r.Method+" "+r.URL.Path)
		if refusing && strings.Contains(r.URL.Path, "/rooms/!b:") {
			return reply{http.StatusTooManyRequests, `{"errcode": "M_LIMIT_EXCEEDED"}`, nil}
		}
		return reply{http.StatusOK, fmt.Sprintf(`{"room_id": %q}`, strings.ReplaceAll(path.Base(r.URL.Path), "#", "!")), nil}
	})
	d := open(t, "matrix://:s3cretaccess@matrix.example.org/?rooms=%23a:example.org,%23b:example.org")
	failure := deliveries.FailureOf(d.Dispatch(t.Context(), message("x")))
	assert.True(t, failure.Temporary && failure.Channel, failure)
	assert.True(t, failure.MaybeAccepted, "the first room has it")
	first := got
	refusing, got = false, nil
	require.NoError(t, d.Dispatch(t.Context(), message("x")))
	assert.Len(t, got, 4)
	assert.Equal(t, first, got)
}

// TestJoinedRoomOfMatrix checks that a room which was only joined has not accepted the message.
func TestJoinedRoomOfMatrix(t *testing.T) { //nolint:paralleltest // they share the Internet
	answers(func(r *http.Request) reply {
		if r.Method == http.MethodPut {
			return reply{http.StatusTooManyRequests, `{"errcode": "M_LIMIT_EXCEEDED"}`, nil}
		}
		return reply{http.StatusOK, `{"room_id": "!a:example.org"}`, nil}
	})
	row := services["matrix"]
	failure := deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address)))
	assert.True(t, failure.Temporary && failure.Channel, failure)
	assert.False(t, failure.MaybeAccepted)
}

// TestGatewayAnswers checks that no other member of a pool sends at once what a gateway may have
// passed on.
func TestGatewayAnswers(t *testing.T) { //nolint:paralleltest // they share the Internet
	unsure := map[int]bool{http.StatusInternalServerError: false, http.StatusBadGateway: true, http.StatusServiceUnavailable: false, http.StatusGatewayTimeout: true}
	for name, row := range services {
		for status, want := range unsure {
			answers(says(status, "<html>"))
			failure := deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address)))
			assert.True(t, failure.Temporary && failure.Channel, failure)
			assert.Equal(t, want && name != "matrix", failure.MaybeAccepted, "%s: %d", name, status) // Matrix failed at the join.
		}
	}
	answers(func(r *http.Request) reply {
		if r.Method == http.MethodPut {
			return reply{http.StatusGatewayTimeout, "<html>", nil}
		}
		return reply{http.StatusOK, `{"room_id": "!a:example.org"}`, nil}
	})
	row := services["matrix"]
	assert.True(t, deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address))).MaybeAccepted)
}

// TestManyRetries checks that the memory of the driver is limited.
func TestManyRetries(t *testing.T) { //nolint:paralleltest // they share the Internet
	const remembered = 20
	first, refusing := 0, true
	answers(func(*http.Request) reply {
		body := world.seen[len(world.seen)-1].body
		world.seen = nil
		if strings.Contains(body, "-1001") {
			first++
		} else if refusing {
			return reply{http.StatusTooManyRequests, `{"ok": false}`, nil}
		}
		return reply{http.StatusOK, `{"ok": true}`, nil}
	})
	driver := overWorld()
	driver.Remember(remembered)
	d, err := driver.Open(channel(twoChats))
	require.NoError(t, err)
	m := message("x")
	for n := range remembered + 3 {
		m.ID = strconv.Itoa(n)
		require.Error(t, d.Dispatch(t.Context(), m))
	}
	refusing, first = false, 0
	for n := range remembered + 3 {
		m.ID = strconv.Itoa(n)
		require.NoError(t, d.Dispatch(t.Context(), m))
	}
	assert.Equal(t, 3, first)
}

// longText is a text that takes three messages of Discord. Its lines begin with their number.
func longText() string {
	var text strings.Builder
	for n := range 16 {
		fmt.Fprintf(&text, "#%d#%s\n", n+1, strings.Repeat(" word", 200))
	}
	return text.String()
}
