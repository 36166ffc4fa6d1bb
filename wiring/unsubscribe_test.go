package wiring_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"testing"
	"time"

	gosmtp "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/wiring"
)

// mailServer accepts every message.
type mailServer chan *mail.Message

func (m mailServer) NewSession(*gosmtp.Conn) (gosmtp.Session, error) { return m, nil }
func (mailServer) Mail(string, *gosmtp.MailOptions) error            { return nil }
func (mailServer) Rcpt(string, *gosmtp.RcptOptions) error            { return nil }
func (mailServer) Reset()                                            {}
func (mailServer) Logout() error                                     { return nil }
func (m mailServer) Data(content io.Reader) error {
	message, err := mail.ReadMessage(content)
	if err == nil {
		m <- message
	}
	return err
}

// newMailServer returns a mail server on loopback and its port.
func newMailServer(t *testing.T) (received mailServer, port int) {
	t.Helper()
	received = make(mailServer, 10)
	server := gosmtp.NewServer(received)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close() // Open connections no longer matter.
		assert.NoError(t, <-ended)
	})
	return received, listener.Addr().(*net.TCPAddr).Port
}

// The serving process accepts the links of the sending process, because they share the secret key.
func TestUnsubscribeLinkOfWorker(t *testing.T) {
	t.Parallel()
	received, port := newMailServer(t)
	i := newInstallation(t)
	i.run(t, fmt.Sprintf(`{organizations: [{slug: acme, name: Acme, channels: [{name: mail, protocol: EMAIL, driver: smtp, preferred: true,
			settings: {host: 127.0.0.1, port: %d, from: notify@acme.example, tls: none}}],
		projects: [{slug: shop, name: Shop, lists: [{name: all}], applications: [{slug: web, name: Web, events: [{slug: tick, name: Tick,
			templates: [{channel: mail, subject: Tick, text: Tock}], notifications: [{name: Ticks, list: all}]}]}]}]}]}`, port), "apply", "-f", "-")
	key := i.run(t, "", "key", "create", "--name", "test", "--grant", "full_access")
	line, stopServer := i.start(t, "listening", "serve", "--no-worker")
	defer stopServer()
	address := line["address"]
	call(t, address, key, "register/", `{"username": "ada", "distribution_list": "all", "addresses": [{"value": "ada@example.org", "assign_to_preferred_channel": true}]}`)
	next := func() *mail.Message {
		t.Helper()
		call(t, address, key, "e/tick/trigger/", `{}`)
		select {
		case m := <-received:
			return m
		case <-time.After(patience):
			t.Fatal("no message came")
			return nil
		}
	}

	_, stopWorker := i.start(t, "messages carry no unsubscribe links, because base_url is not set", "worker")
	assert.Empty(t, next().Header.Get("List-Unsubscribe"))
	stopWorker()

	const base = "https://notify.acme.example/tocsin"
	_, stopWorker = i.start(t, "working", "worker", "--base-url", base+"/")
	m := next()
	stopWorker()
	assert.Equal(t, "List-Unsubscribe=One-Click", m.Header.Get("List-Unsubscribe-Post"))
	path, found := strings.CutPrefix(strings.Trim(m.Header.Get("List-Unsubscribe"), "<>"), base)
	require.True(t, found, m.Header.Get("List-Unsubscribe"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%v%s", address, path), strings.NewReader("List-Unsubscribe=One-Click"))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := (&http.Client{Timeout: patience}).Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }() // It was read.
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, string(page), "<h1>You are unsubscribed</h1>")
}

// Commands that send nothing do not warn about missing links.
func TestCommandsDoNotWarnAboutLinks(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.run(t, "", "migrate", "up")
	i.run(t, "", "key", "list") // It creates the secret key, and says so.
	var out, errs bytes.Buffer
	require.Zero(t, wiring.NewProgram("test", wiring.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, i.environ).Run(t.Context(), []string{"key", "list"}))
	assert.Empty(t, errs.String())
}
