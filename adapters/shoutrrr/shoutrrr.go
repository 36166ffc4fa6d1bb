// Package shoutrrr posts messages to chat and push services (Slack, Teams, Telegram, Discord,
// Matrix, ntfy, Gotify and others) that the library of that name describes by a service URL. It
// knows which services can be trusted with a message and how to read what they say; it does not
// know why a message is sent, nor decide when a failed one is tried again.
//
// The library leaves much to its caller: its services take no context, some retry by themselves, or
// report failures as success. So it reads the URL, it sends where it can be given a client, and
// every answer is judged here.
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

// timeout is how long a service may take.
const timeout = 30 * time.Second

// Driver makes dispatchers that post through services. Channels of one reach share their
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

// Over returns a driver whose requests go over these transports, for tests.
func Over(transport func(outbound.Reach) http.RoundTripper) *Driver {
	return &Driver{transports: map[outbound.Reach]http.RoundTripper{
		outbound.Public: transport(outbound.Public), outbound.Everywhere: transport(outbound.Everywhere)}}
}

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols are those that the driver carries.
func (*Driver) Protocols() []channels.Protocol {
	return []channels.Protocol{channels.SLACK, channels.PLAINTEXT}
}

// Settings describes the driver's settings.
func (*Driver) Settings() []channels.Setting { return described() }

// Check reports what is wrong with a channel. It connects to nothing.
func (*Driver) Check(c channels.Channel) error {
	_, err := read(c)
	return err
}

// Open returns a dispatcher for a channel. A message that a service does not answer in time is
// given up.
func (d *Driver) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	s, err := read(c)
	if err != nil {
		return nil, err
	}
	return &dispatcher{settings: s, transport: d.transports[outbound.Reach(c.Unrestricted)]}, nil
}
