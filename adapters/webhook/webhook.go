// Package webhook posts messages as JSON to the addresses of recipients, signed according to
// Standard Webhooks (https://www.standardwebhooks.com). Untrusted users choose the addresses, so it
// connects to private networks only if allowed, follows no redirects and reads only the beginning
// of a response. It does not know why a message is sent or when it is retried.
package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Name is what channels call the driver.
const Name = "webhook"

// timeout is the timeout of one request; Standard Webhooks recommends 15 to 30 seconds.
const timeout = 30 * time.Second

// Driver opens dispatchers that post messages. Channels of the same reach share their connections.
type Driver struct {
	clients map[outbound.Reach]*http.Client
}

var (
	_ deliveries.Driver     = (*Driver)(nil)
	_ deliveries.Dispatcher = (*dispatcher)(nil)
)

// New returns the driver, which connects through the guard. It never uses a proxy: recipients
// choose the targets, and a proxy may reach hosts that we may not.
func New(guard *outbound.Guard) *Driver {
	d := &Driver{clients: map[outbound.Reach]*http.Client{}}
	for _, reach := range []outbound.Reach{outbound.Public, outbound.Everywhere} {
		d.clients[reach] = &http.Client{Timeout: timeout, CheckRedirect: outbound.NoRedirects,
			Transport: guard.Transport(reach, outbound.Options{IdlePerHost: 16, Idle: 30 * time.Second})}
	}
	return d
}

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols returns the protocols of the driver.
func (*Driver) Protocols() []channels.Protocol { return []channels.Protocol{channels.WEBHOOK} }

// Settings describes the driver's settings.
func (*Driver) Settings() []channels.Setting { return described() }

// Check returns what is wrong with a channel.
func (*Driver) Check(c channels.Channel) error {
	_, err := read(c)
	return err
}

// Open returns a dispatcher for a channel. Recipients choose the targets and are not trusted. So
// the reach is Everywhere only if the settings name the hosts, and whoever set them may reach
// everything.
func (d *Driver) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	s, err := read(c)
	if err != nil {
		return nil, err
	}
	return &dispatcher{settings: s, client: d.clients[outbound.Reach(c.Unrestricted && len(s.hosts) > 0)]}, nil
}

// dispatcher posts the messages of one channel.
type dispatcher struct {
	settings settings
	client   *http.Client
}

// Dispatch posts one message. It returns nil when the target has accepted it.
func (d *dispatcher) Dispatch(ctx context.Context, m deliveries.Message) error {
	watched, peer := outbound.Watch(ctx)
	request, failed := d.settings.request(watched, m, time.Now())
	if failed != nil {
		return failed
	}
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
