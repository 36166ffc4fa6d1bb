package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"

	mail "github.com/wneessen/go-mail/smtp"
)

// longestAnswer is how much a server may say in answer to one message: a server gone mad must not fill the memory.
const longestAnswer = 1 << 20

// step is a part of the conversation; failures name it.
type step string

const (
	dialing    step = "connecting"
	encryption step = "TLS"
	greeting   step = "greeting"
	login      step = "login"
	sender     step = "MAIL FROM"
	recipient  step = "RCPT TO"
	begin      step = "DATA"
	content    step = "end of DATA"
)

// conn is a connection that is greeted, encrypted and logged in. One goroutine uses it at a time.
type conn struct {
	raw    *wire
	client *mail.Client
	born   time.Time
	closed bool        // by us, when time ran out
	expiry *time.Timer // while it waits in the pool
}

// wire is what bytes come over; it ends when a server says too much.
type wire struct {
	net.Conn
	left int
}

func (w *wire) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errors.New("the server says too much")
	}
	n, err := w.Conn.Read(p)
	w.left -= n
	return n, err
}

// connect makes a new connection.
func (s *settings) connect(ctx context.Context, timeout time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, errors.Join(ctx.Err(), &stepError{dialing, err})
	}
	c := &conn{raw: &wire{Conn: raw, left: longestAnswer}, born: time.Now()}
	if err := c.watched(ctx, func() error { return s.open(ctx, c) }); err != nil {
		c.abandon()
		return nil, err
	}
	return c, nil
}

// open says everything that comes before the first message.
func (s *settings) open(ctx context.Context, c *conn) (err error) {
	conn := net.Conn(c.raw)
	if s.security == implicit {
		encrypted := tls.Client(conn, s.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return &stepError{encryption, err}
		}
		conn = encrypted
	}
	if c.client, err = mail.NewClient(conn, s.host); err != nil {
		return &stepError{greeting, err}
	}
	if err := c.client.Hello(s.helo); err != nil {
		return &stepError{greeting, err}
	}
	if s.security == startTLS {
		if offered, _ := c.client.Extension("STARTTLS"); !offered {
			return &stepError{encryption, errors.New("the server does not offer STARTTLS")}
		}
		if err := c.client.StartTLS(s.tls); err != nil {
			return &stepError{encryption, err}
		}
	}
	if s.username == "" {
		return nil
	}
	auth, err := s.mechanism(c.client)
	if err == nil {
		err = c.client.Auth(auth)
	}
	if err != nil {
		return &stepError{login, err}
	}
	return nil
}

// mechanism chooses the best way to log in that the server offers. Without encryption the password is never sent in the clear, except
// to this machine.
func (s *settings) mechanism(c *mail.Client) (mail.Auth, error) {
	_, words := c.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(words))
	for _, m := range []struct {
		name string
		auth mail.Auth
		open bool // sends the password itself
	}{
		{"SCRAM-SHA-256", mail.ScramSHA256Auth(s.username, s.password), false},
		{"SCRAM-SHA-1", mail.ScramSHA1Auth(s.username, s.password), false},
		{"PLAIN", mail.PlainAuth("", s.username, s.password, s.host, false), true},
		{"LOGIN", mail.LoginAuth(s.username, s.password, s.host, false), true},
		{"CRAM-MD5", mail.CRAMMD5Auth(s.username, s.password), false},
	} {
		for _, name := range offered {
			if name == m.name && (!m.open || s.security != plain || isLocal(s.host)) {
				return m.auth, nil
			}
		}
	}
	if s.security == plain {
		return nil, errors.New("the server offers no login that keeps the password secret without TLS")
	}
	return nil, errors.New("the server offers no login that is known here")
}

// send hands a message over. Its MAIL FROM is also how a connection that waited shows whether it still lives.
func (c *conn) send(ctx context.Context, l letter) error {
	c.raw.left = longestAnswer
	return c.watched(ctx, func() error {
		if !l.ascii {
			if able, _ := c.client.Extension("SMTPUTF8"); !able {
				return errNotASCII
			}
		}
		c.client.SkipSMTPUTF8(l.ascii)
		if err := c.client.Mail(l.from); err != nil {
			return &stepError{sender, err}
		}
		if err := c.client.Rcpt(l.to); err != nil {
			return &stepError{recipient, err}
		}
		w, err := c.client.Data()
		if err != nil {
			return &stepError{begin, err}
		}
		if _, err := w.Write(l.content); err != nil {
			return &stepError{content, err}
		}
		if err := w.Close(); err != nil {
			return &stepError{content, err}
		}
		return nil
	})
}

// reset makes a connection fit for the next message after one that failed; false when it is not.
func (c *conn) reset(ctx context.Context) bool {
	return c.watched(ctx, c.client.Reset) == nil
}

// watched talks to the server until it is done or the context ends: then the connection is closed under the conversation, and the error is
// the context's. A conversation that has come to a good end has, even if the time ran out with its last word.
func (c *conn) watched(ctx context.Context, talk func() error) error {
	stop := context.AfterFunc(ctx, c.abandon)
	err := talk()
	c.closed = !stop()
	if err != nil && c.closed {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// quit ends a connection politely, which must not take long.
func (c *conn) quit() {
	if c.raw.SetDeadline(time.Now().Add(2*time.Second)) == nil {
		_ = c.client.Quit() // It is over either way.
	}
	c.abandon()
}

// abandon ends a connection at once.
func (c *conn) abandon() {
	_ = c.raw.Close() // Whoever still talks over it is told.
}

// isLocal tells whether a host is this machine; the library that logs in draws the same line.
func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
