// Package shoutrrr posts messages to chat and push services (Slack, Teams, Telegram, Discord,
// Matrix, ntfy, Gotify and others) that the library of that name describes by a service URL. It
// knows which services report their errors reliably and how to read their responses; it does not
// know why a message is sent, nor when a failed one is retried.
//
// The library leaves much to its caller: its services take no context, some retry by themselves, or
// report failures as success. So the library parses the URL, and sends if it accepts a client, and
// every response is classified here.
package shoutrrr

import (
	"net/http"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Name is what channels call the driver.
const Name = "shoutrrr"

// timeout bounds one message to a service.
const timeout = 30 * time.Second

// Driver opens dispatchers that post to services. Channels of the same reach share their
// connections.
type Driver struct {
	transports map[outbound.Reach]http.RoundTripper
}

var (
	_ deliveries.Driver     = (*Driver)(nil)
	_ deliveries.Dispatcher = (*dispatcher)(nil)
)

// New returns the driver, which connects through the guard.
func New(guard *outbound.Guard) *Driver {
	return Over(func(reach outbound.Reach) http.RoundTripper {
		return guard.Transport(reach, outbound.Options{Proxies: true, IdlePerHost: channels.MaxConcurrency, Idle: 90 * time.Second})
	})
}

// Over returns a driver with these transports, for tests.
func Over(transport func(outbound.Reach) http.RoundTripper) *Driver {
	return &Driver{transports: map[outbound.Reach]http.RoundTripper{
		outbound.Public: transport(outbound.Public), outbound.Everywhere: transport(outbound.Everywhere)}}
}

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols returns the protocols of the driver.
func (*Driver) Protocols() []channels.Protocol {
	return []channels.Protocol{channels.SLACK, channels.PLAINTEXT}
}

// Settings describes the driver's settings.
func (*Driver) Settings() []channels.Setting { return described() }

// Check returns what is wrong with a channel. It connects to nothing.
func (*Driver) Check(c channels.Channel) error {
	_, err := read(c)
	return err
}

// Open returns a dispatcher for a channel. It gives up a message that a service does not answer in
// time.
func (d *Driver) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	s, err := read(c)
	if err != nil {
		return nil, err
	}
	return &dispatcher{settings: s, transport: d.transports[outbound.Reach(c.Unrestricted)]}, nil
}
