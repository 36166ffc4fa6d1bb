// Package shoutrrr posts messages to chat and push services (Slack, Teams, Telegram, Discord, Matrix, ntfy, Gotify and others)
// through the library of that name, which turns a service URL into a request. It knows which services can be trusted with a message
// and how to read what they say; it does not know why a message is sent, nor decide when a failed one is tried again.
//
// The library leaves much to its caller, see [Driver.Open]: its services take no context, some wait without end, retry by themselves, or
// report failures as success.
package shoutrrr

import (
	"net/http"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Name is what channels call the driver.
const Name = "shoutrrr"

// timeout is how long a service may take.
const timeout = 30 * time.Second

// Driver makes dispatchers that post through services.
type Driver struct{ transport http.RoundTripper }

var (
	_ deliveries.Driver     = (*Driver)(nil)
	_ deliveries.Dispatcher = (*dispatcher)(nil)
)

// New returns the driver. The services whose client can be replaced use the transport, nil being [http.DefaultTransport]; the others
// use the latter in any case.
func New(transport http.RoundTripper) *Driver {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &Driver{transport: transport}
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

// Open returns a dispatcher for a channel. A message that a service does not answer in time is given up; where its client cannot be
// replaced, its goroutine stays until the service answers, and when there are too many of these, nothing more is sent.
func (d *Driver) Open(c channels.Channel) (deliveries.Dispatcher, error) {
	s, err := read(c)
	if err != nil {
		return nil, err
	}
	return &dispatcher{settings: s, transport: d.transport, places: make(chan struct{}, channels.MaxConcurrency)}, nil
}
