// Package smtp sends e-mail through a mail server. It knows the protocol, the message format and
// connection reuse, but not why a message is sent or when it is retried.
package smtp

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// Name is what channels call the driver.
const Name = "smtp"

// Timeouts are the timeouts for mail servers. A zero field has its default.
type Timeouts struct {
	// Connect is the timeout for a new connection, including TLS and login; 30 s.
	Connect time.Duration
	// Send is the timeout for one message; 5 min. A server that scans a message replies late, and a
	// message that was accepted after the timeout is sent twice (RFC 5321, 4.5.3.2.6).
	Send time.Duration
	// Idle is how long a connection waits for the next message; 30 s, which is less than servers
	// wait.
	Idle time.Duration
	// Age is the maximum age of a connection; 5 min. A new connection uses a changed address, or
	// another machine behind a load balancer.
	Age time.Duration
}

// Driver opens dispatchers that send through mail servers.
type Driver struct {
	guard    *outbound.Guard
	timeouts Timeouts
}

var (
	_ deliveries.Driver     = (*Driver)(nil)
	_ deliveries.Dispatcher = (*dispatcher)(nil)
)

// New returns the driver, which connects through the guard.
func New(guard *outbound.Guard, t Timeouts) *Driver {
	return &Driver{guard: guard, timeouts: Timeouts{
		Connect: cmp.Or(t.Connect, 30*time.Second),
		Send:    cmp.Or(t.Send, 5*time.Minute),
		Idle:    cmp.Or(t.Idle, 30*time.Second),
		Age:     cmp.Or(t.Age, 5*time.Minute),
	}}
}

// Name is what channels call the driver.
func (*Driver) Name() string { return Name }

// Protocols returns the protocols of the driver.
func (*Driver) Protocols() []channels.Protocol { return []channels.Protocol{channels.EMAIL} }

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
	dial := func(ctx context.Context) (net.Conn, error) {
		return d.guard.Dial(ctx, outbound.Reach(c.Unrestricted), "tcp", s.address)
	}
	return &dispatcher{settings: s, dial: dial, timeouts: d.timeouts, pool: newPool(d.timeouts), relay: newRelay()}, nil
}
