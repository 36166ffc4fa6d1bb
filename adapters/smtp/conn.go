package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	mail "github.com/wneessen/go-mail/smtp"

	"github.com/tocsin/tocsin/adapters/outbound"
)

// longestAnswer is how many bytes a server may send in answer to one message: a faulty server must
// not fill the memory.
const longestAnswer = 1 << 20

// step is a step of the session; failures name it.
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

// conn is a connection after greeting, TLS and login. Only one goroutine uses it at a time.
type conn struct {
	raw    *wire
	client *mail.Client
	peer   *outbound.Peer
	born   time.Time
	ends   time.Time   // when the server's certificate expires
	closed bool        // by us, at the deadline
	expiry *time.Timer // while it is idle in the pool
}

// wire is the connection's byte stream; it fails when a server sends too much.
type wire struct {
	net.Conn
	left int
}

func (w *wire) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, remark("the server says too much")
	}
	n, err := w.Conn.Read(p)
	w.left -= n
	return n, err
}

// open runs the session up to the first message.
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
			return &stepError{encryption, remark("the server does not offer STARTTLS")}
		}
		if err := c.client.StartTLS(s.tls); err != nil {
			return &stepError{encryption, err}
		}
	}
	if state, encrypted := c.client.TLSConnectionState(); encrypted {
		c.ends = outbound.Ends(state)
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

// mechanism chooses the best login mechanism that the server offers. Without TLS the password is
// never sent in the clear, except to this machine.
func (s *settings) mechanism(c *mail.Client) (mail.Auth, error) {
	_, words := c.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(words))
	var revealing bool
	for _, m := range []struct {
		name string
		auth mail.Auth
		open bool // sends the password in the clear
	}{
		{"SCRAM-SHA-256", mail.ScramSHA256Auth(s.username, s.password), false},
		{"SCRAM-SHA-1", mail.ScramSHA1Auth(s.username, s.password), false},
		{"PLAIN", mail.PlainAuth("", s.username, s.password, s.host, false), true},
		{"LOGIN", mail.LoginAuth(s.username, s.password, s.host, false), true},
		{"CRAM-MD5", mail.CRAMMD5Auth(s.username, s.password), false},
	} {
		switch {
		case !slices.Contains(offered, m.name):
		case m.open && s.security == plain && !isLocal(s.host):
			revealing = true
		default:
			return m.auth, nil
		}
	}
	switch {
	case revealing:
		return nil, remark("the server offers no login that keeps the password secret without TLS")
	case len(offered) > 0:
		return nil, remark("the server offers no login that is known here")
	}
	return nil, remark("the server offers no login")
}

// send sends a message. Its MAIL FROM also shows whether an idle connection still works.
func (c *conn) send(ctx context.Context, l letter) error {
	c.raw.left = longestAnswer
	return c.watched(ctx, func() error {
		if !l.ascii {
			if able, _ := c.client.Extension("SMTPUTF8"); !able {
				return errNotASCII
			}
		}
		if err := c.introduce(l); err != nil {
			return err
		}
		w := c.client.Text.DotWriter()
		if _, err := w.Write(l.content); err != nil {
			return &stepError{content, err}
		}
		if err := w.Close(); err != nil {
			return &stepError{content, err}
		}
		return c.answer(content, 250)
	})
}

// command is a command before the content.
type command struct {
	text string
	step step
	code int // the expected reply code, or its first digits
}

// introduce sends the sender, the recipient and DATA. A server with PIPELINING (RFC 2920) gets them
// at once, which saves two of three round trips.
func (c *conn) introduce(l letter) error {
	commands := []command{
		{"MAIL FROM:" + l.from + c.parameters(l), sender, 250},
		{"RCPT TO:" + l.to, recipient, 25},
		{"DATA", begin, 354},
	}
	if grouped, _ := c.client.Extension("PIPELINING"); grouped {
		return c.ask(commands)
	}
	for i := range commands {
		if err := c.ask(commands[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// ask sends commands at once and reads all replies; the first unexpected one is the error.
func (c *conn) ask(commands []command) (failed error) {
	for _, said := range commands {
		if strings.ContainsAny(said.text, "\r\n") {
			return &stepError{said.step, remark("a line break in a command")}
		}
		if _, err := c.client.Text.W.WriteString(said.text + "\r\n"); err != nil {
			return &stepError{said.step, err}
		}
	}
	if err := c.client.Text.W.Flush(); err != nil {
		return &stepError{commands[0].step, err}
	}
	for _, said := range commands {
		err := c.answer(said.step, said.code)
		if failed == nil {
			failed = err
		} else if err == nil && said.step == begin {
			c.endEmpty()
		}
		if err != nil && !answered(err) {
			break // No more replies will come.
		}
	}
	return failed
}

// parameters returns the parameters of MAIL FROM for the message.
func (c *conn) parameters(l letter) (words string) {
	if offered, _ := c.client.Extension("8BITMIME"); offered {
		words = " BODY=8BITMIME"
	}
	if !l.ascii {
		words += " SMTPUTF8"
	}
	return words
}

// answer reads the reply to a command.
func (c *conn) answer(to step, code int) error {
	if _, _, err := c.client.Text.ReadResponse(code); err != nil {
		return &stepError{to, err}
	}
	return nil
}

// endEmpty ends the message that a server asks for although it refused the only recipient: an empty
// one without a recipient.
func (c *conn) endEmpty() {
	if err := c.client.Text.PrintfLine("."); err == nil {
		_ = c.answer(content, 250) // The server may refuse it.
	}
}

// reset prepares a connection for the next message after one that failed; false when it cannot be
// used again.
func (c *conn) reset(ctx context.Context) bool {
	return c.watched(ctx, c.client.Reset) == nil
}

// watched runs a part of the session until it is done or the context ends; then it closes the
// connection, and the error is the context's. A part that succeeded has succeeded, even if the time
// ran out with its last reply.
func (c *conn) watched(ctx context.Context, talk func() error) error {
	stop := context.AfterFunc(ctx, c.abandon)
	err := talk()
	c.closed = !stop()
	if err != nil && c.closed {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// quit ends a connection politely, within a short time.
func (c *conn) quit() {
	if c.raw.SetDeadline(time.Now().Add(2*time.Second)) == nil {
		_ = c.client.Quit() // The connection ends either way.
	}
	c.abandon()
}

// abandon ends a connection at once.
func (c *conn) abandon() {
	_ = c.raw.Close() // A concurrent user gets an error.
}

// isLocal reports whether a host is this machine; the library for logins uses the same rule.
func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
