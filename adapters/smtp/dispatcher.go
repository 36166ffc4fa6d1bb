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

// dispatcher sends the messages of one channel. It has at most one connection per message in
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
	letter, failed := d.settings.compose(m)
	if failed != nil {
		return failed
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeouts.Send)
	defer cancel()
	for {
		c, kept := d.pool.take()
		if !kept {
			var err error
			if c, err = d.connect(ctx); err != nil {
				return d.settings.failureOf(ctx, err, c.peer)
			}
		}
		deliveries.ReportCertificate(ctx, c.ends)
		err := c.send(ctx, letter)
		d.relay.passed(err)
		switch {
		case err == nil:
			d.pool.put(c)
			return nil
		case kept && wasClosed(err) && ctx.Err() == nil:
			// The server has closed the connection while it was idle, or closes it now; nothing of
			// the message was sent. Try another idle connection, or a new one.
			c.abandon()
			continue
		case answered(err) && c.reset(ctx):
			d.pool.put(c)
		default:
			c.abandon()
		}
		failed := d.settings.failureOf(ctx, err, c.peer)
		if isPolicy(err) && d.relay.everybody(letter.to) {
			failed.Temporary, failed.Channel = true, true
		}
		return failed
	}
}

// connect opens a new connection. With an error it is closed, and only its peer is valid.
func (d *dispatcher) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeouts.Connect)
	defer cancel()
	raw, err := d.dial(ctx)
	if err != nil {
		return &conn{peer: &outbound.Peer{}}, errors.Join(ctx.Err(), &stepError{dialing, err})
	}
	c := &conn{raw: &wire{Conn: raw, left: longestAnswer}, peer: outbound.PeerOf(raw), born: time.Now()}
	if err := c.watched(ctx, func() error { return d.settings.open(ctx, c) }); err != nil {
		c.abandon()
		return c, err
	}
	return c, nil
}

// Close ends every connection with QUIT.
func (d *dispatcher) Close() error {
	d.pool.close()
	return nil
}

// wasClosed reports whether a connection was closed, or closing, before the message began.
func wasClosed(err error) bool {
	failed, found := errors.AsType[*stepError](err)
	return found && failed.step == sender && (failed.code() == 0 || failed.code() == serviceClosing)
}

// answered reports whether the server refused and keeps listening: a connection that broke, or that
// the server wants to close, cannot be used again.
func answered(err error) bool {
	answer, found := errors.AsType[*textproto.Error](err)
	return found && answer.Code >= 400 && answer.Code != serviceClosing
}
