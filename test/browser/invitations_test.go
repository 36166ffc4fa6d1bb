package browser_test

import (
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	gosmtp "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mailServer is a mail server that accepts everything.
type mailServer struct{ received chan email }

type email struct{ to, subject, text string }

// newMailServer starts a mail server, and returns its port.
func newMailServer(t *testing.T) (*mailServer, string) {
	t.Helper()
	p := &mailServer{received: make(chan email, 10)}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	server := gosmtp.NewServer(p)
	go server.Serve(listener) //nolint:errcheck // It ends when it is closed.
	t.Cleanup(func() { _ = server.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return p, port
}

func (p *mailServer) NewSession(*gosmtp.Conn) (gosmtp.Session, error) {
	return &mailSession{mailServer: p}, nil
}

// next returns the next message.
func (p *mailServer) next(t *tab) email {
	t.Helper()
	select {
	case l := <-p.received:
		return l
	case <-time.After(timeout):
		require.Fail(t, "no message came")
		return email{}
	}
}

// mailSession is an SMTP session.
type mailSession struct {
	*mailServer
	to string
}

func (*mailSession) Mail(string, *gosmtp.MailOptions) error { return nil }
func (*mailSession) Reset()                                 {}
func (*mailSession) Logout() error                          { return nil }

func (p *mailSession) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	p.to = to
	return nil
}

func (p *mailSession) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	p.received <- email{p.to, m.Header.Get("Subject"), string(text)}
	return err
}

// TestInvitationByMail opens the link of a mailed invitation. A passkey that is added there is
// enough to sign in, then and later.
func TestInvitationByMail(t *testing.T) {
	t.Parallel()
	box, port := newMailServer(t)
	w := newSite(t, "TOCSIN_SYSTEM_CHANNEL=acme/system-mail")
	file := filepath.Join(t.TempDir(), "channel.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "organizations: [{slug: acme, name: Acme Inc., channels: [{name: system-mail, protocol: EMAIL, driver: smtp,"+
		" settings: {host: 127.0.0.1, port: %s, tls: none, from: tocsin@example.org}}]}]\n", port), 0o600))
	w.run("", "apply", "-f", file)
	w.populate(customers)
	p := w.signedIn()
	p.startAt("/console/o/acme/")
	p.typeKeys("/grace")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.clickThrough(link, p.fullName(link, "Grace Hopper"))
	p.clickThrough(link, "Role and signing in")
	p.choose("Role", "Operator")
	p.clickThrough(button, "Save")
	p.clickThrough(button, "Invite")
	p.sees("Mailed to grace.hopper@example.com.")
	p.expectEffort(4, 5) // To invite somebody.
	p.clickThrough(button, "Sign out")

	came := box.next(p)
	assert.Equal(t, "grace.hopper@example.com", came.to)
	assert.Equal(t, "Invitation to Acme Inc.", came.subject)
	found := regexp.MustCompile(regexp.QuoteMeta(w.base) + "(/console/welcome/[0-9a-f]{64}/)").FindStringSubmatch(came.text)
	require.NotNil(t, found, came.text)

	k := p.authenticator()
	p.open(found[1])
	p.clickThrough(button, "Use a passkey instead")
	p.fill("Name", "Telephone")
	p.clickThrough(button, "Add the passkey")
	assert.Equal(t, "/console/o/acme/", p.path(), "she is signed in")
	p.sees("Your account: grace.hopper@example.com")
	assert.Len(t, k.credentials(), 1)

	p.clickThrough(button, "Sign out")
	p.clickThrough(button, "Sign in with a passkey")
	p.sees("Your account: grace.hopper@example.com")
	p.open("/console/account/")
	p.sees("This account has no password.")
	p.expectComplaint("404")
	p.open(found[1]) // The link works once.
	p.doesNotSee("Set password")
}
