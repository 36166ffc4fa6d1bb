package shoutrrr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/shoutrrr"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/test/clocks"
	"github.com/tocsin/tocsin/test/fakenet"
)

// internet is behind the transport of the driver. Tests that set its responses do not run in
// parallel.
type internet struct {
	mu     sync.Mutex
	answer func(*http.Request) reply
	seen   []exchange
}

// reply is a response, or none.
type reply struct {
	status int // 0: no response
	body   string
	header []string // names and values
}

type exchange struct {
	*http.Request
	body string
}

var world = &internet{}

// bypass is the program's default transport, which no service may use: it would bypass the guard.
type bypass struct{ used atomic.Int64 }

func (b *bypass) RoundTrip(r *http.Request) (*http.Response, error) {
	b.used.Add(1)
	return nil, errors.New("the default transport was used for " + r.URL.Host)
}

func TestMain(m *testing.M) {
	var b bypass
	http.DefaultTransport = &b
	code := m.Run()
	if n := b.used.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "%d requests passed the guard by\n", n)
		code = 1
	}
	os.Exit(code)
}

func (w *internet) RoundTrip(r *http.Request) (*http.Response, error) {
	e := exchange{Request: r}
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		e.body = string(text)
		_ = r.Body.Close()
	}
	w.mu.Lock()
	answer := w.answer
	w.seen = append(w.seen, e)
	w.mu.Unlock()
	waiting := make(chan reply, 1)
	go func() { waiting <- answer(r) }()
	var said reply
	select {
	case said = <-waiting:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if said.status == 0 {
		return nil, syscall.ECONNREFUSED
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil { // Every host has a public address.
		trace.GotConn(httptrace.GotConnInfo{Conn: public{}})
	}
	header := http.Header{}
	for i := 0; i+1 < len(said.header); i += 2 {
		header.Set(said.header[i], said.header[i+1])
	}
	return &http.Response{StatusCode: said.status, Status: strconv.Itoa(said.status) + " " + http.StatusText(said.status), Header: header,
		Body: io.NopCloser(strings.NewReader(said.body)), Request: r}, nil
}

// public is a connection to a public address.
type public struct{ net.Conn }

func (public) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(fakenet.PublicAddress)} }

// answers sets the responses of all hosts, and forgets the requests so far.
func answers(answer func(*http.Request) reply) {
	world.mu.Lock()
	defer world.mu.Unlock()
	world.answer, world.seen = answer, nil
}

func says(status int, body string, header ...string) func(*http.Request) reply {
	return func(*http.Request) reply { return reply{status, body, header} }
}

func isAway(*http.Request) reply { return reply{} }

func channel(url string) channels.Channel {
	return channels.Channel{Name: "chat", Protocol: channels.SLACK, Driver: shoutrrr.Name, Settings: channels.Settings{"url": url}, Active: true}
}

func overWorld() *shoutrrr.Driver {
	return shoutrrr.Over(func(outbound.Reach) http.RoundTripper { return world })
}

func open(t *testing.T, url string) deliveries.Dispatcher {
	t.Helper()
	driver := overWorld()
	require.NoError(t, driver.Check(channel(url)))
	d, err := driver.Open(channel(url))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func message(to string) deliveries.Message {
	return deliveries.Message{ID: "1", To: to, Subject: "The subject", Text: "The text.\n", HTML: "<p>"}
}

// services has a row for every service: a URL, an address for it, the response that accepts a
// message, and where address and title are in the request.
var services = map[string]struct {
	url, address, yes string
	where             string // in the URL or the body
	title             string
}{
	"slack":         {"slack://xoxb:123456789012-1234567890123-4mt0t4l1YL3g1T5L4cK70k3N@{address}", "C001CH4NN3L", `{"ok": true}`, `"channel":"C001CH4NN3L"`, `"text":"The subject"`},
	"slack webhook": {"slack://hook:WNA3PBYV6-F20DUQND3RQ-Webc4MAvoacrpPakR8phF0zi@webhook?botname={address}", "ada b", "ok", `"username":"ada b"`, `"text":"The subject"`},
	"teams": {"teams://11111111-4444-4444-8444-cccccccccccc@22222222-4444-4444-8444-cccccccccccc/33333333012222222222333333333344/44444444-4444-4444-8444-cccccccccccc/" +
		"V2ESyij_gAljSoUQHvZoZYzlpAoAXExyOl26dlf1xHEx05?host=example.webhook.office.com&color={address}", "ff0000", "1", `"themeColor":"ff0000"`, `"title":"The subject"`},
	"telegram":   {"telegram://12345678:Ab_cdefghijklmnopqrstuvwxyz0123456@telegram?chats={address}", "@channel", `{"ok": true}`, `"chat_id":"@channel"`, `"text":"The subject\n\nThe text."`},
	"discord":    {"discord://t0kent0kent0ken@123456789?thread_id={address}", "987654321", "", "thread_id=987654321", `"title":"The subject"`},
	"matrix":     {"matrix://:s3cretaccess@matrix.example.org/?rooms={address}", "#ada:example.org", `{"room_id": "!abc:example.org"}`, "/join/%23ada:example.org", `"body":"The subject\n\nThe text."`},
	"ntfy":       {"ntfy://ada:s3cretpass@ntfy.example.org/{address}", "top-ic.1", "{}", "https://ntfy.example.org/top-ic.1", "Title: The subject"},
	"gotify":     {"gotify://gotify.example.org/{address}", "Aaa.bbb.ccc.ddd", "{}", "token=Aaa.bbb.ccc.ddd", `"title": "The subject"`},
	"mattermost": {"mattermost://bot@mm.example.org/s3crett0ken/{address}", "town-square", "ok", `"channel":"town-square"`, `"text":"The subject\n\nThe text."`},
	"rocketchat": {"rocketchat://bot@rc.example.org/s3cretA/s3cretB/@{address}", "ada", "ok", `"channel":"@ada"`, `"text":"The subject\n\nThe text."`},
	"zulip":      {"zulip://bot%40example.org:s3cretkey@zulip.example.org/?stream={address}&topic=news", "all people", "{}", "to=all+people", "The+subject%0A%0AThe+text."},
	"googlechat": {"googlechat://chat.googleapis.com/v1/spaces/{address}/messages?key=s3cretkey&token=s3crett0ken", "FOO", "{}", "/v1/spaces/FOO/messages", `"text":"The subject\n\nThe text."`},
	"pushover":   {"pushover://shoutrrr:s3crett0ken@{address}/", "us3rkey", "{}", "user=us3rkey", "title=The+subject"},
	"pushbullet": {"pushbullet://tokentokentokentokentokentokentoke/{address}", "phone", `{"type": "note", "active": true, "body": "The text.", "title": "The subject"}`, `"device_iden":"phone"`, `"title":"The subject"`},
	"bark":       {"bark://:{address}@bark.example.org", "devicekey", `{"code": 200}`, `"device_key":"devicekey"`, `"title":"The subject"`},
	"join":       {"join://shoutrrr:s3cretkey@join/?devices={address}", "phone", "{}", "deviceIds=phone", "title=The+subject"},
	"ifttt":      {"ifttt://s3cretkey/?events=event1&value1={address}", "ada@example.org", "", `"value1":"ada@example.org"`, `"value2":"The subject\n\nThe text."`},
	"lark":       {"lark://open.larksuite.com/{address}", "t0ken", `{"code": 0}`, "/hook/t0ken", `"title":"The subject"`},
	"wecom":      {"wecom://693axxx6-7aoc-4bc4-97a0-0ec2sifa5aaa?mentioned_list={address}", "ada", `{"errcode": 0}`, `"mentioned_list":["ada"]`, `"content":"The subject\n\nThe text."`},
	"signal":     {"signal://ada:s3cretpass@signal.example.org/+15005550006/{address}", "+436601234567", "{}", `"recipients":["+436601234567"]`, `"message":"The subject\n\nThe text."`},
	"opsgenie":   {"opsgenie://api.opsgenie.com/s3cret-api-key?entity={address}", "ada", "{}", `"entity":"ada"`, `"message":"The subject"`},
	"notifiarr":  {"notifiarr://s3cretkey?channel={address}", "123456789", "{}", `123456789`, `"title":"The subject"`},
}

// secrets are the parts of the URLs above that must not be shown.
var secrets = []string{"4mt0t4l1YL3g1T5L4cK70k3N", "Webc4MAvoacrpPakR8phF0zi", "V2ESyij", "cdefghijklmnopqrstuvwxyz", "t0kent0kent0ken", "s3cret", "tokentoken", "0ec2sifa5aaa"}

func TestServices(t *testing.T) { //nolint:paralleltest // they share the Internet
	for name, c := range services {
		t.Run(name+"/TakesAMessage", func(t *testing.T) {
			answers(says(http.StatusOK, c.yes))
			if strings.HasPrefix(name, "discord") {
				answers(says(http.StatusNoContent, c.yes))
			}
			require.NoError(t, open(t, c.url).Dispatch(t.Context(), message(c.address)))
			require.NotEmpty(t, world.seen)
			var all strings.Builder
			for _, e := range world.seen {
				all.WriteString(e.URL.String() + "\n" + e.body + "\n")
				require.NoError(t, e.Header.Write(&all))
			}
			assert.Contains(t, all.String(), c.where)
			assert.Contains(t, all.String(), c.title)
			assert.Contains(t, strings.ReplaceAll(all.String(), "+", " "), "The text.")
			assert.NotContains(t, all.String(), "{address}")
		})
		for trouble, answer := range map[string]func(*http.Request) reply{
			"IsAway":         isAway,
			"IsBroken":       says(http.StatusInternalServerError, "oops"),
			"IsBrokenJSON":   says(http.StatusInternalServerError, `{"ok": false, "error": "internal_error"}`),
			"IsBusy":         says(http.StatusTooManyRequests, "ratelimited"),
			"IsSomebodyElse": says(http.StatusBadGateway, "<html>gateway</html>"),
		} {
			t.Run(name+"/"+trouble, func(t *testing.T) {
				answers(answer)
				err := open(t, c.url).Dispatch(t.Context(), message(c.address))
				var failure *deliveries.Failure
				require.ErrorAs(t, err, &failure, "a lost message counts as sent")
				assert.True(t, failure.Temporary, failure)
				for _, s := range secrets {
					assert.NotContains(t, failure.Error(), s)
				}
				assert.NotContains(t, failure.Error(), "\n")
				assert.Len(t, world.seen, 1, "the service tries by itself")
			})
		}
		t.Run(name+"/SaysNo", func(t *testing.T) {
			answers(says(http.StatusBadRequest, `{"ok": false, "error": "channel_not_found"}`))
			err := open(t, c.url).Dispatch(t.Context(), message(c.address))
			var failure *deliveries.Failure
			require.ErrorAs(t, err, &failure)
			assert.False(t, failure.Channel, failure)
		})
	}
}

func TestClassification(t *testing.T) { //nolint:paralleltest // they share the Internet
	for name, c := range map[string]struct {
		service string
		answer  func(*http.Request) reply
		want    kind
		text    string
	}{
		"ASeenServiceIsAway":       {"ntfy", isAway, unreachable, "ntfy: the connection was refused"},
		"ASeenServiceIsBusy":       {"ntfy", says(429, "{}"), unreachable, "ntfy: answered 429 Too Many Requests"},
		"ASeenServiceSaysNo":       {"ntfy", says(403, `{"error": "forbidden"}`), refused, "ntfy: answered 403 Forbidden"},
		"APersonalLoginFails":      {"gotify", says(401, `{}`), refused, "gotify: answered 401 Unauthorized"},
		"ASharedLoginFails":        {"ntfy", says(401, `{}`), unreachable, "ntfy: answered 401 Unauthorized"},
		"APersonalKeyFails":        {"bark", says(401, "no"), refused, "bark: answered 401 Unauthorized"},
		"ARedirectIsNotFollowed":   {"ntfy", says(302, "", "Location", "https://elsewhere.example.org"), unreachable, "ntfy: answered 302 Found"},
		"AnUnpaidBill":             {"opsgenie", says(402, ""), unreachable, "opsgenie: answered 402 Payment Required"},
		"AMethodNotAllowed":        {"gotify", says(405, ""), unreachable, "gotify: answered 405 Method Not Allowed"},
		"AProxyWantsALogin":        {"discord", says(407, ""), unreachable, "discord: answered 407 Proxy Authentication Required"},
		"DiscordIsAway":            {"discord", isAway, unreachable, "discord: the connection was refused"},
		"AnUnseenServiceIsAway":    {"slack", isAway, unreachable, "slack: the connection was refused"},
		"AVagueServiceIsAway":      {"teams", isAway, unreachable, "teams: the connection was refused"},
		"AVagueServiceIsBusy":      {"teams", says(429, ""), unreachable, "teams: answered 429 Too Many Requests"},
		"AVagueServiceSaysNo":      {"googlechat", says(404, ""), refused, "googlechat: answered 404 Not Found"},
		"ZulipIsAway":              {"zulip", isAway, unreachable, "zulip: the connection was refused"},
		"SlackKnowsNoSuchChannel":  {"slack", says(200, `{"ok": false, "error": "channel_not_found"}`), refused, "slack: answered channel_not_found"},
		"SlackRefusesTheToken":     {"slack", says(200, `{"ok": false, "error": "token_revoked"}`), unreachable, "slack: answered token_revoked"},
		"SlackThrottles":           {"slack", says(200, `{"ok": false, "error": "ratelimited"}`), unreachable, "slack: answered ratelimited"},
		"SlackSaysSomethingNew":    {"slack", says(200, `{"ok": false, "error": "something_new"}`), postponed, "slack: answered something_new"},
		"AWebhookOfSlackIsGone":    {"slack webhook", says(404, "no_service"), unreachable, "slack: answered no_service"},
		"AWebhookOfSlackIsBroken":  {"slack webhook", says(503, "<html>"), unreachable, "slack: answered 503 Service Unavailable"},
		"TelegramIsAway":           {"telegram", isAway, unreachable, "telegram: the connection was refused"},
		"TelegramIsDifferent":      {"telegram", says(200, "<html>"), unreachable, "telegram: answered 200"},
		"TelegramSaysNoWith200":    {"telegram", says(200, `{"ok": false, "description": "what"}`), unreachable, "telegram: answered 200 what"},
		"TelegramKnowsNoSuchChat":  {"telegram", says(400, `{"ok": false, "description": "Bad Request: chat not found"}`), refused, "telegram: answered 400 Bad Request: chat not found"},
		"TheRecipientBlockedABot":  {"telegram", says(403, `{"ok": false, "description": "Forbidden: bot was blocked by the user"}`), refused, "telegram: answered 403 Forbidden: bot was blocked by the user"},
		"TelegramRefusesTheToken":  {"telegram", says(401, `{"ok": false, "description": "Unauthorized"}`), unreachable, "telegram: answered 401 Unauthorized"},
		"TelegramKnowsNoSuchToken": {"telegram", says(404, `{"ok": false, "description": "Not Found"}`), unreachable, "telegram: answered 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			answers(c.answer)
			row := services[c.service]
			var failure *deliveries.Failure
			require.ErrorAs(t, open(t, row.url).Dispatch(t.Context(), message(row.address)), &failure)
			assert.Equal(t, c.want, kind{failure.Temporary, failure.Channel}, failure)
			assert.Equal(t, c.text, failure.Error())
		})
	}
	for service, c := range map[string]struct {
		answer func(*http.Request) reply
		want   time.Duration
	}{
		"ntfy":     {says(429, "{}", "Retry-After", "7"), 7 * time.Second},
		"discord":  {says(429, "{}", "Retry-After", "1.5"), 1500 * time.Millisecond},
		"pushover": {says(503, "{}", "Retry-After", "-5"), 0},
		"telegram": {says(429, `{"ok": false, "parameters": {"retry_after": 35}}`), 35 * time.Second},
		"gotify":   {says(503, "", "Retry-After", "1e30"), 24 * time.Hour},
	} {
		t.Run("RetryAfter/"+service, func(t *testing.T) {
			answers(c.answer)
			row := services[service]
			assert.Equal(t, c.want, deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(row.address))).RetryAfter)
		})
	}
}

// hangs sets up a service that gets requests, and answers none before the test ends.
func hangs(t *testing.T, got func(*http.Request)) {
	t.Helper()
	release := make(chan struct{})
	answers(func(r *http.Request) reply {
		got(r)
		<-release
		return reply{}
	})
	t.Cleanup(func() { close(release) })
}

func TestTime(t *testing.T) { //nolint:paralleltest // they share the Internet
	for _, service := range []string{"ntfy", "slack", "telegram", "discord", "teams"} {
		row := services[service]
		t.Run("ADeadlineEndsAHangingService/"+service, func(t *testing.T) {
			hangs(t, func(*http.Request) {})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			failure := deliveries.FailureOf(open(t, row.url).Dispatch(ctx, message(row.address)))
			assert.True(t, failure.Temporary && failure.Channel, failure)
			assert.EqualError(t, failure, service+": no answer in time")
			assert.False(t, failure.MaybeAccepted, "there was no connection")
		})
		t.Run("AnAnswerIsMissing/"+service, func(t *testing.T) {
			ctx, expire := clocks.Expiring(t.Context())
			hangs(t, func(r *http.Request) {
				httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Conn: public{}})
				expire()
			})
			failure := deliveries.FailureOf(open(t, row.url).Dispatch(ctx, message(row.address)))
			assert.EqualError(t, failure, service+": no answer in time")
			assert.True(t, failure.MaybeAccepted)
		})
		t.Run("GivenUp/"+service, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			hangs(t, func(*http.Request) { cancel(errors.New("shutting down")) })
			failure := deliveries.FailureOf(open(t, row.url).Dispatch(ctx, message(row.address)))
			assert.True(t, failure.Temporary, failure)
			assert.False(t, failure.Channel, failure)
			assert.EqualError(t, failure, service+": given up: shutting down")
		})
	}
}

func TestMessages(t *testing.T) { //nolint:paralleltest // they share the Internet
	answers(says(http.StatusOK, "{}"))
	row := services["ntfy"]
	t.Run("WithoutATextTheSubjectIsSent", func(t *testing.T) {
		answers(says(http.StatusOK, "{}"))
		m := message(row.address)
		m.Text = "\n"
		require.NoError(t, open(t, row.url).Dispatch(t.Context(), m))
		assert.Equal(t, "The subject", world.seen[0].body)
		assert.Empty(t, world.seen[0].Header.Get("Title"))
	})
	t.Run("ATitleIsOneLine", func(t *testing.T) {
		answers(says(http.StatusOK, "{}"))
		m := message(row.address)
		m.Subject = "a\r\nX-Evil: b"
		require.NoError(t, open(t, row.url).Dispatch(t.Context(), m))
		assert.Equal(t, "a X-Evil: b", world.seen[0].Header.Get("Title"))
		assert.Empty(t, world.seen[0].Header.Get("X-Evil"))
	})
	t.Run("WithoutASubjectGotifyGetsNoTitleOfItsOwn", func(t *testing.T) {
		answers(says(http.StatusOK, "{}"))
		m := message("Aaa.bbb.ccc.ddd")
		m.Subject = ""
		require.NoError(t, open(t, services["gotify"].url).Dispatch(t.Context(), m))
		assert.Contains(t, world.seen[0].body, `"title": ""`)
	})
	t.Run("NothingRefused", func(t *testing.T) {
		m := message(row.address)
		m.Subject, m.Text = "", ""
		failure := deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), m))
		assert.False(t, failure.Temporary)
		assert.True(t, failure.Unsent)
	})
	t.Run("TooLongTextForTelegramIsRefused", func(t *testing.T) {
		m := message("1")
		m.Text = strings.Repeat("x", 4097)
		failure := deliveries.FailureOf(open(t, services["telegram"].url).Dispatch(t.Context(), m))
		assert.False(t, failure.Temporary)
		assert.True(t, failure.Unsent)
	})
	for _, address := range []string{"", ".", "..", "a/b", `a\b`, "a?b", "a%2fb", "a,b", "a\nb", "../../admin"} {
		t.Run("AnAddressThatCouldLeaveItsPlaceIsRefused/"+strings.ReplaceAll(address, "/", "|"), func(t *testing.T) {
			answers(says(http.StatusOK, "{}"))
			failure := deliveries.FailureOf(open(t, row.url).Dispatch(t.Context(), message(address)))
			assert.False(t, failure.Temporary)
			assert.True(t, failure.Unsent)
			assert.Empty(t, world.seen)
		})
	}
	for _, address := range []string{"a&b=c", "a#b", "a@b", "a;b", "a+b", "a b", "ä", "{address}", "a:b"} {
		t.Run("AnyOtherStaysInItsPlace/"+address, func(t *testing.T) {
			answers(says(http.StatusOK, "{}"))
			require.NoError(t, open(t, "ntfy://ada:pw@ntfy.example.org/topic?tags={address}&priority=high").Dispatch(t.Context(), message(address)))
			r := world.seen[0]
			assert.Equal(t, "https://ntfy.example.org/topic", r.URL.String())
			assert.Equal(t, address, r.Header.Get("Tags"))
			assert.Equal(t, "High", r.Header.Get("Priority"))
		})
	}
	t.Run("InvalidSlackChannelIsRefused", func(t *testing.T) {
		answers(says(http.StatusOK, `{"ok": true}`))
		failure := deliveries.FailureOf(open(t, services["slack"].url).Dispatch(t.Context(), message("#general")))
		assert.False(t, failure.Temporary)
		assert.True(t, failure.Unsent)
		assert.NotContains(t, failure.Error(), "4mt0t4l1YL3g1T5L4cK70k3N")
		assert.Empty(t, world.seen)
	})
}

func TestConcurrency(t *testing.T) { //nolint:paralleltest // they share the Internet
	answers(says(http.StatusOK, `{"ok": true}`))
	for _, service := range []string{"slack", "telegram", "ntfy", "discord"} {
		row := services[service]
		d := open(t, row.url)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 10 {
					assert.NoError(t, d.Dispatch(t.Context(), message(row.address)))
				}
			})
		}
		wg.Wait()
	}
}

func TestCheck(t *testing.T) { //nolint:paralleltest // they share the Internet
	answers(func(r *http.Request) reply {
		t.Error("a check connected to " + r.URL.Host)
		return reply{}
	})
	driver := overWorld()
	for name, row := range services {
		t.Run("Accepts/"+name, func(t *testing.T) {
			require.NoError(t, driver.Check(channel(row.url)))
		})
	}
	t.Run("AcceptsAFixedDestinationAndLimits", func(t *testing.T) {
		c := channel("discord://token@123456789")
		c.Protocol, c.Settings["concurrency"], c.Settings["rate_per_second"] = channels.PLAINTEXT, 4, 0.5
		require.NoError(t, driver.Check(c))
	})
	const known = "bark://, discord://, googlechat://, gotify://, ifttt://, join://, lark://, matrix://, mattermost://, notifiarr://, ntfy://, opsgenie://, pushbullet://, pushover://, " +
		"rocketchat://, signal://, slack://, teams://, telegram://, wecom://, zulip://"
	for name, c := range map[string]struct{ url, want string }{
		"Nothing":                   {"", "is required"},
		"NoURL":                     {"hello", "must begin with one of " + known},
		"TheGenericService":         {"generic://10.0.0.1/", "must begin with one of " + known},
		"AnotherWayToTheGeneric":    {"generic+https://10.0.0.1/", "must begin with one of " + known},
		"TheLogger":                 {"logger://", "must begin with one of " + known},
		"Mail":                      {"smtp://a:b@example.org/?from=a@example.org&to={address}", "must begin with one of " + known},
		"AScript":                   {"script:///bin/sh", "must begin with one of " + known},
		"AServiceInCapitals":        {"SLACK://xoxb:123456789012-1234567890123-4mt0t4l1YL3g1T5L4cK70k3N@{address}", "must begin with one of " + known},
		"AWayAround":                {"discord+https://discord.com/api/webhooks/1/s3cret", "must begin with one of " + known},
		"AnAddressAsHost":           {"ntfy://{address}/topic", "cannot have {address} in its host: recipients would choose what to connect to"},
		"APartOfTheHost":            {"gotify://{address}.example.org/token", "cannot have {address} in its host: recipients would choose what to connect to"},
		"AParameterForTheHost":      {"signal://example.org/+15005550006/+15005550007?host={address}", "cannot have {address} in its host: recipients would choose what to connect to"},
		"AParameterForTheScheme":    {"ntfy://example.org/topic?Scheme={address}", "cannot have {address} in its host: recipients would choose what to connect to"},
		"APort":                     {"zulip://a:b@example.org:{address}/?stream=x", "is not a URL"},
		"MatrixWithAPassword":       {"matrix://ada:s3cret@example.org/?rooms={address}", "matrix needs an access token, as in matrix://:TOKEN@host: a password would mean a new login for each message"},
		"MatrixWithoutRooms":        {"matrix://:s3cret@example.org/", "matrix needs rooms: without them it writes to every room that it is in"},
		"MatrixWithAnEmptyRoom":     {"matrix://:s3cret@example.org/?rooms={address},", "is not understood by the service matrix"},
		"TelegramWithoutChats":      {"telegram://12345678:Ab_cdefghijklmnopqrstuvwxyz0123456@telegram", "is not understood by the service telegram: no channels defined in config URL"},
		"TelegramWithAWrongToken":   {"telegram://s3cret@telegram?chats={address}", "is not understood by the service telegram: invalid telegram token: …:"},
		"AParameterThatDoesNotExit": {"ntfy://ntfy.example.org/topic?colour=red", ""},
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			err := driver.Check(channel(c.url))
			require.Error(t, err)
			if c.want != "" {
				require.EqualError(t, err, "settings.url: "+c.want)
			}
			assert.NotContains(t, err.Error(), "s3cret")
			assert.NotContains(t, err.Error(), "4mt0t4l1YL3g1T5L4cK70k3N")
			_, opening := driver.Open(channel(c.url))
			require.EqualError(t, opening, err.Error())
		})
	}
	t.Run("NamesEveryMistakeAtOnce", func(t *testing.T) {
		var e *fault.Error
		require.ErrorAs(t, driver.Check(channels.Channel{Driver: "shoutrrr", Protocol: channels.EMAIL, Settings: channels.Settings{"urls": "x"}}), &e)
		assert.Equal(t, fault.Fields{
			{Name: "driver", Messages: []string{"shoutrrr carries SLACK and PLAINTEXT, not EMAIL"}},
			{Name: "settings.url", Messages: []string{"is required"}},
			{Name: "settings.urls", Messages: []string{"is not a setting of the driver shoutrrr"}},
		}, e.Fields())
	})
	t.Run("TheURLIsSecret", func(t *testing.T) {
		assert.Equal(t, "shoutrrr", driver.Name())
		assert.Equal(t, []string{"url"}, channels.Secrets(driver.Settings()))
	})
}
