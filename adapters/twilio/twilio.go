// Package twilio sends text messages through the REST API of Twilio, or of a compatible provider.
// It knows the API and its error codes, but not why a message is sent or when it is retried.
package twilio

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Name is what channels call the driver.
const Name = "twilio"

// MaxText is the maximum number of characters of a text message; Twilio refuses more. The driver
// does not truncate messages, because the end may be an important link.
const MaxText = 1600

// timeout is the timeout of one call of the API.
const timeout = 30 * time.Second

// Driver opens dispatchers that send through Twilio. Channels of the same reach share their
// connections.
type Driver struct {
	clients map[outbound.Reach]*http.Client
}

var (
	_ deliveries.Driver     = (*Driver)(nil)
	_ deliveries.Dispatcher = (*dispatcher)(nil)
)

// New returns the driver, which connects through the guard.
func New(guard *outbound.Guard) *Driver {
	d := &Driver{clients: map[outbound.Reach]*http.Client{}}
	for _, reach := range []outbound.Reach{outbound.Public, outbound.Everywhere} {
		d.clients[reach] = &http.Client{Timeout: timeout, CheckRedirect: outbound.NoRedirects, Transport: guard.Transport(reach,
			outbound.Options{Proxies: true, IdlePerHost: channels.MaxConcurrency, Idle: 90 * time.Second})}
	}
	return d
}

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols returns the protocols of the driver.
func (*Driver) Protocols() []channels.Protocol { return []channels.Protocol{channels.SMS} }

// Settings describes the driver's settings.
func (*Driver) Settings() []channels.Setting { return described() }

// Check returns what is wrong with a channel.
func (*Driver) Check(c channels.Channel) error {
	_, err := read(c)
	return err
}

// Open returns a dispatcher for a channel.
func (d *Driver) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	s, err := read(c)
	if err != nil {
		return nil, err
	}
	return &dispatcher{settings: s, client: d.clients[outbound.Reach(c.Unrestricted)]}, nil
}

// dispatcher sends the messages of one channel.
type dispatcher struct {
	settings settings
	client   *http.Client
}

// Dispatch sends one message. It returns nil when Twilio has queued it. It sends the text, and the
// subject only when there is no text.
func (d *dispatcher) Dispatch(ctx context.Context, m deliveries.Message) error {
	text := m.Text
	if strings.TrimSpace(text) == "" {
		text = m.Subject
	}
	text = strings.TrimSpace(text)
	switch length := utf8.RuneCountInString(text); {
	case length == 0:
		return deliveries.Unsendable("there is no text to send")
	case length > MaxText:
		return deliveries.Unsendable("the text has %d characters, a text message at most %d", length, MaxText)
	}
	form := url.Values{"To": {m.To}, "Body": {text}}
	if d.settings.service != "" {
		form.Set("MessagingServiceSid", d.settings.service)
	} else {
		form.Set("From", d.settings.from)
	}
	watched, peer := outbound.Watch(ctx)
	request, err := http.NewRequestWithContext(watched, http.MethodPost, d.settings.messages, strings.NewReader(form.Encode()))
	if err != nil {
		return deliveries.Unreachable("%w", err)
	}
	request.SetBasicAuth(d.settings.account, d.settings.token)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Tocsin")
	response, err := d.client.Do(request)
	if err != nil {
		return noResponse(ctx, err, peer)
	}
	defer response.Body.Close()
	if failed := classify(response, peer, time.Now()); failed != nil {
		return failed
	}
	return nil
}

// Close does nothing: channels share the connections, which close when idle.
func (*dispatcher) Close() error { return nil }
