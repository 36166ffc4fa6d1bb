package smtp

import (
	"context"
	"errors"
	"net/textproto"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// dispatcher sends the messages of one channel. It has no more connections than messages are under way at once.
type dispatcher struct {
	settings settings
	timeouts Timeouts
	pool     *pool
}

// Dispatch sends one message. When it returns nil, the mail server has taken responsibility for it.
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
			if c, err = d.settings.connect(ctx, d.timeouts.Connect); err != nil {
				return d.settings.failureOf(ctx, err)
			}
		}
		err := c.send(ctx, letter)
		switch {
		case err == nil:
			d.pool.put(c)
			return nil
		case kept && wasClosed(err) && ctx.Err() == nil:
			// The server had closed the connection while it waited, or has had enough of it; nothing of the message was said yet. The
			// next one is another that waited, or new.
			c.abandon()
			continue
		case answered(err) && c.reset(ctx):
			d.pool.put(c)
		default:
			c.abandon()
		}
		return d.settings.failureOf(ctx, err)
	}
}

// Close says goodbye on every connection.
func (d *dispatcher) Close() error {
	d.pool.close()
	return nil
}

// wasClosed tells whether a connection was gone, or going, before the message began.
func wasClosed(err error) bool {
	failed, found := errors.AsType[*stepError](err)
	return found && failed.step == sender && (failed.code() == 0 || failed.code() == serviceClosing)
}

// answered tells whether the server said no and will listen on: a connection that broke is of no use any more, and one that the
// server wants to close neither.
func answered(err error) bool {
	answer, found := errors.AsType[*textproto.Error](err)
	return found && answer.Code >= 400 && answer.Code != serviceClosing
}
