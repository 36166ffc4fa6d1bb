package wiring_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/shoutrrr"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/adapters/twilio"
	"github.com/tocsin/tocsin/adapters/webhook"
	"github.com/tocsin/tocsin/app/delivery"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/test/fakenet"
)

// dispatched opens a channel and returns the failure of a message.
func dispatched(t *testing.T, drivers delivery.Drivers, c channels.Channel, to string) *deliveries.Failure {
	t.Helper()
	require.NoError(t, drivers.Check(c))
	d, err := drivers.Open(c)
	require.NoError(t, err)
	err = d.Dispatch(t.Context(), deliveries.Message{ID: "1", To: to, Subject: "Hello", Text: "Hello"})
	require.NoError(t, d.Close())
	var failure *deliveries.Failure
	require.ErrorAs(t, err, &failure)
	return failure
}

// echoingServer starts a provider that echoes every request.
func echoingServer(t *testing.T, write func(w io.Writer, request string)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all strings.Builder
		fmt.Fprint(&all, r.URL, " ", r.Header["Authorization"], r.Header["X-Token"])
		w.WriteHeader(http.StatusBadRequest)
		write(w, all.String())
	}))
	t.Cleanup(s.Close)
	return s
}

// TestProvidersEchoingSecrets checks that secrets do not reach the delivery, which many users
// may read.
func TestProvidersEchoingSecrets(t *testing.T) {
	t.Parallel()
	t.Run("Webhook", func(t *testing.T) {
		t.Parallel()
		s := echoingServer(t, func(w io.Writer, request string) { fmt.Fprint(w, "what is ", request) })
		failure := dispatched(t, delivery.Drivers{webhook.New(fakenet.Redirecting())}, channels.Channel{Driver: "webhook", Protocol: channels.WEBHOOK,
			Settings: channels.Settings{"headers": map[string]any{"Authorization": "Bearer 0penSesame", "X-Token": "hunter two"}, "hosts": []any{"127.0.0.1"}}}, s.URL)
		assert.Equal(t, "answered 400: what is / [***] [***]", failure.Error())
		assert.False(t, failure.Temporary, "it still means the same")
		assert.False(t, failure.Channel)
	})
	t.Run("Twilio", func(t *testing.T) {
		t.Parallel()
		account := "AC0123456789abcdef0123456789abcdef"
		s := echoingServer(t, func(w io.Writer, _ string) {
			fmt.Fprintf(w, `{"code": 20003, "message": "Your AccountSid %s or AuthToken 0penSesame was incorrect"}`, account)
		})
		failure := dispatched(t, delivery.Drivers{twilio.New(fakenet.Redirecting())}, channels.Channel{Driver: "twilio", Protocol: channels.SMS,
			Settings: channels.Settings{"account_sid": account, "auth_token": "0penSesame", "from": "+15005550006", "base_url": s.URL}}, "+436601234567")
		assert.Equal(t, "answered 400, error 20003: Your AccountSid "+account+" or AuthToken *** was incorrect", failure.Error())
		assert.True(t, failure.Channel)
	})
	t.Run("SMTP", func(t *testing.T) {
		t.Parallel()
		host, port := echoingMailServer(t)
		failure := dispatched(t, delivery.Drivers{smtp.New(fakenet.Redirecting(), smtp.Timeouts{})}, channels.Channel{Driver: "smtp", Protocol: channels.EMAIL,
			Settings: channels.Settings{"host": host, "port": port, "tls": "none", "from": "a@b.example", "username": "ada", "password": "0penSesame"}}, "c@d.example")
		assert.Contains(t, failure.Error(), "login: 535 what is AUTH PLAIN *** 0penS3same ***")
		assert.True(t, failure.Channel)
	})
	t.Run("Shoutrrr", func(t *testing.T) {
		t.Parallel()
		s := echoingServer(t, func(w io.Writer, request string) { fmt.Fprintf(w, `{"code": 40101, "error": "what is %s"}`, request) })
		at, err := url.Parse(s.URL)
		require.NoError(t, err)
		failure := dispatched(t, delivery.Drivers{shoutrrr.New(fakenet.Redirecting())}, channels.Channel{Driver: "shoutrrr", Protocol: channels.PLAINTEXT,
			Settings: channels.Settings{"url": "ntfy://ada:0penSesame@" + at.Host + "/{address}?scheme=http"}}, "alerts")
		assert.NotContains(t, failure.Error(), "0penSesame")
		assert.NotContains(t, failure.Error(), base64.StdEncoding.EncodeToString([]byte("ada:0penSesame")))
	})
}

// echoingMailServer starts a mail server that refuses every login and repeats it.
func echoingMailServer(t *testing.T) (host, port string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-ended
	})
	go func() {
		defer close(ended)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		text, said := make([]byte, 1000), ""
		for _, answer := range []string{"220 hello", "250-hello\r\n250 AUTH PLAIN", "535 what is %s 0penS3same " + base64.StdEncoding.EncodeToString([]byte("0penSesame"))} {
			if strings.Contains(answer, "%s") {
				answer = fmt.Sprintf(answer, said)
			}
			if _, err := io.WriteString(conn, answer+"\r\n"); err != nil {
				return
			}
			n, err := conn.Read(text)
			if err != nil {
				return
			}
			said = strings.TrimSpace(string(text[:n]))
		}
	}()
	host, port, err = net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return host, port
}
