// Package webhook delivers messages as JSON to the addresses of recipients, by POST, signed as Standard Webhooks wants it
// (https://www.standardwebhooks.com). The addresses are chosen by people who are not trusted: it connects to no private network unless it
// was allowed to, follows no redirects and reads little of an answer. It does not know why a message is sent, nor decide when a failed
// one is tried again.
package webhook

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/tocsin/tocsin/adapters/webhook/guard"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Name is what channels call the driver.
const Name = "webhook"

// timeout is how long a target may take altogether; Standard Webhooks gives it 15 to 30 seconds.
const timeout = 30 * time.Second

// Driver makes dispatchers that post messages. Its channels share their connections.
type Driver struct{ client *http.Client }

var (
	_ deliveries.Driver     = (*Driver)(nil)
	_ deliveries.Dispatcher = (*dispatcher)(nil)
)

// New returns the driver. It connects to public addresses, and to those of the allowed networks.
func New(allowed []netip.Prefix) *Driver {
	dialer := net.Dialer{Timeout: 10 * time.Second, ControlContext: guard.New(allowed).Control}
	return &Driver{client: &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// No proxy: the guard must see the address of the target, and a proxy would stand inside of what it guards.
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		},
	}}
}

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols are those that the driver carries.
func (*Driver) Protocols() []channels.Protocol { return []channels.Protocol{channels.WEBHOOK} }

// Settings describes the driver's settings.
func (*Driver) Settings() []channels.Setting { return described() }

// Check reports what is wrong with a channel.
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
	return &dispatcher{settings: s, client: d.client}, nil
}

// dispatcher posts the messages of one channel.
type dispatcher struct {
	settings settings
	client   *http.Client
}

// Dispatch posts one message. It returns nil when the target answered that it has taken it.
func (d *dispatcher) Dispatch(ctx context.Context, m deliveries.Message) error {
	request, failed := d.settings.request(ctx, m, time.Now())
	if failed != nil {
		return failed
	}
	response, err := d.client.Do(request)
	if err != nil {
		return broken(ctx, err)
	}
	defer response.Body.Close()
	if failed := judge(response, time.Now()); failed != nil {
		return failed
	}
	return nil
}

// Close leaves the connections to the other channels; they end when they have been idle.
func (*dispatcher) Close() error { return nil }
