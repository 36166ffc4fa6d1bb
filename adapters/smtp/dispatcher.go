package smtp

import (
	"context"
	"errors"
	"net"
	"net/textproto"
	"time"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// dispatcher sends the messages of one channel. It uses at most one connection for each message in
// progress.
type dispatcher struct {
	settings settings
	dial     func(context.Context) (net.Conn, error)
	timeouts Timeouts
	pool     *pool
	relay    *relay
}

// Dispatch sends one message. When it returns nil, the mail server has accepted responsibility for
// it.
func (d *dispatcher) Dispatch(ctx context.Context, m deliveries.Message) error {
	envelope, failed := d.settings.compose(m)
	if failed != nil {
		return failed
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeouts.Send)
	defer cancel()
	for {
		c, reused := d.pool.take()
		if !reused {
			var err error
			if c, err = d.connect(ctx); err != nil {
				return d.settings.failureOf(ctx, err, c.peer)
			}
		}
		deliveries.ReportCertificate(ctx, c.certificateExpiry)
		before := d.relay.begin()
		err := c.send(ctx, envelope)
		d.relay.record(err, envelope.to, before)
		switch {
		case err == nil:
			d.pool.put(c)
			return nil
		case reused && isClosed(err) && ctx.Err() == nil:
			// The server has closed the connection while it was idle, or closes it now; nothing of
			// the message was sent. Try another idle connection, or a new one.
			c.close()
			continue
		case isReusable(err) && c.reset(ctx):
			d.pool.put(c)
		default:
			c.close()
		}
		failed := d.settings.failureOf(ctx, err, c.peer)
		if d.relay.isForAll(err, envelope.to) {
			failed.Temporary, failed.Channel = true, true
		}
		return failed
	}
}

// connect opens a new connection. After an error only its peer is valid.
func (d *dispatcher) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeouts.Connect)
	defer cancel()
	raw, err := d.dial(ctx)
	if err != nil {
		return &conn{peer: &outbound.Peer{}}, errors.Join(ctx.Err(), &stepError{dialing, err})
	}
	c := &conn{raw: &limitedConn{Conn: raw, left: maxAnswer}, peer: outbound.PeerOf(raw), opened: time.Now()}
	if err := c.withContext(ctx, func() error { return d.settings.open(ctx, c) }); err != nil {
		c.close()
		return c, err
	}
	return c, nil
}

// Close ends every connection with QUIT.
func (d *dispatcher) Close() error {
	d.pool.close()
	return nil
}

// isClosed reports whether the server closed the connection before the message began.
func isClosed(err error) bool {
	failed, found := errors.AsType[*stepError](err)
	return found && failed.step == sender && (failed.code() == 0 || failed.code() == serviceClosing)
}

// isReusable reports whether the server replied with an error and keeps the connection open.
func isReusable(err error) bool {
	answer, found := errors.AsType[*textproto.Error](err)
	return found && answer.Code >= 400 && answer.Code != serviceClosing
}
