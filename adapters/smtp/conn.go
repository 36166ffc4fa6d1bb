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

// maxAnswer is the maximum number of bytes that a server may send for one message, so that a faulty
// server does not fill the memory.
const maxAnswer = 1 << 20

// step is a step of the session, as it appears in failures.
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
	raw               *limitedConn
	client            *mail.Client
	peer              *outbound.Peer
	opened            time.Time
	certificateExpiry time.Time   // when the server's certificate expires
	closed            bool        // by withContext, when the context ended
	expiry            *time.Timer // while it is idle in the pool
}

// limitedConn is a connection that fails when the server sends too much.
type limitedConn struct {
	net.Conn
	left int
}

func (w *limitedConn) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, localError("the server says too much")
	}
	n, err := w.Conn.Read(p)
	w.left -= n
	return n, err
}

// open runs the session up to the first message: TLS, greeting and login.
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
			return &stepError{encryption, localError("the server does not offer STARTTLS")}
		}
		if err := c.client.StartTLS(s.tls); err != nil {
			return &stepError{encryption, err}
		}
	}
	if state, encrypted := c.client.TLSConnectionState(); encrypted {
		c.certificateExpiry = outbound.CertificateExpiry(state)
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

// mechanism returns the best login mechanism that the server offers. Without TLS, it returns one
// that sends the password in the clear only if the server is this machine.
func (s *settings) mechanism(c *mail.Client) (mail.Auth, error) {
	_, words := c.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(words))
	var revealing bool
	for _, m := range []struct {
		name string
		auth mail.Auth
		open bool // sends the password in the clear
	}{
		{"SCRAM-SHA-256", &scram{Auth: mail.ScramSHA256Auth(s.username, s.password)}, false},
		{"SCRAM-SHA-1", &scram{Auth: mail.ScramSHA1Auth(s.username, s.password)}, false},
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
		return nil, localError("the server offers no login that keeps the password secret without TLS")
	case len(offered) > 0:
		return nil, localError("the server offers no login that is known here")
	}
	return nil, localError("the server offers no login")
}

// send sends a message. The reply to MAIL FROM shows whether an idle connection still works.
func (c *conn) send(ctx context.Context, l envelope) error {
	c.raw.left = maxAnswer
	return c.withContext(ctx, func() error {
		if !l.ascii {
			if able, _ := c.client.Extension("SMTPUTF8"); !able {
				return errNotASCII
			}
		}
		if err := c.sendEnvelope(l); err != nil {
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

// sendEnvelope sends the sender, the recipient and DATA. With PIPELINING (RFC 2920) it sends them
// at once, which saves two of three round trips.
func (c *conn) sendEnvelope(l envelope) error {
	commands := []command{
		{"MAIL FROM:" + l.from + c.parameters(l), sender, 250},
		{"RCPT TO:" + l.to, recipient, 25},
		{"DATA", begin, 354},
	}
	if grouped, _ := c.client.Extension("PIPELINING"); grouped {
		return c.sendCommands(commands)
	}
	for i := range commands {
		if err := c.sendCommands(commands[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// sendCommands sends commands at once and reads all replies. It returns the first unexpected one as
// an error.
func (c *conn) sendCommands(commands []command) (failed error) {
	for _, said := range commands {
		if strings.ContainsAny(said.text, "\r\n") {
			return &stepError{said.step, localError("a line break in a command")}
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
		if err != nil && !isReusable(err) {
			break // No more replies will come.
		}
	}
	return failed
}

// parameters returns the parameters of MAIL FROM for the message.
func (c *conn) parameters(l envelope) (words string) {
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

// endEmpty ends an empty message, if the server accepted DATA although it refused the recipient.
func (c *conn) endEmpty() {
	if err := c.client.Text.PrintfLine("."); err == nil {
		_ = c.answer(content, 250) // The server may refuse it.
	}
}

// reset resets a connection after a failed message, and reports whether it can be used again.
func (c *conn) reset(ctx context.Context) bool {
	return c.withContext(ctx, c.client.Reset) == nil
}

// withContext runs a part of the session, and closes the connection when the context ends. Then the
// error is that of the context, unless the part succeeded.
func (c *conn) withContext(ctx context.Context, talk func() error) error {
	stop := context.AfterFunc(ctx, c.close)
	err := talk()
	c.closed = !stop()
	if err != nil && c.closed {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// quit sends QUIT, with a short timeout, and closes the connection.
func (c *conn) quit() {
	if c.raw.SetDeadline(time.Now().Add(2*time.Second)) == nil {
		_ = c.client.Quit() // The connection is closed in any case.
	}
	c.close()
}

// close closes the connection.
func (c *conn) close() {
	_ = c.raw.Close() // A concurrent user gets an error.
}

// isLocal reports whether a host is this machine, by the rule of the library for logins.
func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }
