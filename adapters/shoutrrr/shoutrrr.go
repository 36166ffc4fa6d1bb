// Package shoutrrr posts messages to chat and push services (Slack, Teams, Telegram, Discord,
// Matrix, ntfy, Gotify and others) that the library of that name describes by a service URL. It
// knows which services report their errors reliably and how to read their responses, but not why a
// message is sent or when it is retried.
//
// The library has limits: its services take no context, some retry by themselves, or report
// failures as success. So the library parses the URL, and sends the message only if it accepts our
// HTTP client. This package classifies every response.
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

// timeout is the timeout for one message.
const timeout = 30 * time.Second

// Driver opens dispatchers that post to services. Channels of the same reach share their
// connections.
type Driver struct {
	transports map[outbound.Reach]http.RoundTripper
	accepted   *accepted
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
		outbound.Public: transport(outbound.Public), outbound.Everywhere: transport(outbound.Everywhere)}, accepted: newAccepted(maxAccepted)}
}

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols returns the protocols of the driver.
func (*Driver) Protocols() []channels.Protocol {
	return []channels.Protocol{channels.SLACK, channels.PLAINTEXT}
}

// Settings describes the driver's settings.
func (*Driver) Settings() []channels.Setting { return described() }

// Check returns what is wrong with a channel. It does not connect.
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
	return &dispatcher{settings: s, transport: d.transports[outbound.Reach(c.Unrestricted)], accepted: d.accepted}, nil
}
