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

// postbox is a mail server that takes everything.
type postbox struct{ letters chan letter }

type letter struct{ to, subject, text string }

// newPostbox starts one, and returns its port.
func newPostbox(t *testing.T) (*postbox, string) {
	t.Helper()
	p := &postbox{letters: make(chan letter, 10)}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	server := gosmtp.NewServer(p)
	go server.Serve(listener) //nolint:errcheck // It ends when it is closed.
	t.Cleanup(func() { _ = server.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return p, port
}

func (p *postbox) NewSession(*gosmtp.Conn) (gosmtp.Session, error) { return &posting{postbox: p}, nil }

// next is the next letter.
func (p *postbox) next(t *tab) letter {
	t.Helper()
	select {
	case l := <-p.letters:
		return l
	case <-time.After(patience):
		require.Fail(t, "no letter came")
		return letter{}
	}
}

// posting is a conversation.
type posting struct {
	*postbox
	to string
}

func (*posting) Mail(string, *gosmtp.MailOptions) error { return nil }
func (*posting) Reset()                                 {}
func (*posting) Logout() error                          { return nil }

func (p *posting) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	p.to = to
	return nil
}

func (p *posting) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body := m.Body
	if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	p.letters <- letter{p.to, m.Header.Get("Subject"), string(text)}
	return err
}

// TestAnInvitationByMail: the link comes by mail, and a passkey made there is all that a user needs
// to sign in, then and later.
func TestAnInvitationByMail(t *testing.T) {
	t.Parallel()
	box, port := newPostbox(t)
	w := newSite(t, "TOCSIN_SYSTEM_CHANNEL=acme/system-mail")
	file := filepath.Join(t.TempDir(), "channel.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "organizations: [{slug: acme, name: Acme Inc., channels: [{name: system-mail, protocol: EMAIL, driver: smtp,"+
		" settings: {host: 127.0.0.1, port: %s, tls: none, from: tocsin@example.org}}]}]\n", port), 0o600))
	w.run("", "apply", "-f", file)
	w.populate(greeted)
	p := w.signedIn()
	p.begins("/console/o/acme/")
	p.keys("/grace")
	p.follow(chromedp.KeyEvent(kb.Enter))
	p.clickThrough(link, p.called(link, "Grace Hopper"))
	p.clickThrough(link, "Role and signing in")
	p.choose("Role", "Operator")
	p.clickThrough(button, "Save")
	p.clickThrough(button, "Invite")
	p.sees("Mailed to grace.hopper@example.com.")
	p.costs(4, 5) // To invite a colleague.
	p.clickThrough(button, "Sign out")

	came := box.next(p)
	assert.Equal(t, "grace.hopper@example.com", came.to)
	assert.Equal(t, "Invitation to Acme Inc.", came.subject)
	found := regexp.MustCompile(regexp.QuoteMeta(w.base) + "(/console/welcome/[0-9a-f]{64}/)").FindStringSubmatch(came.text)
	require.NotNil(t, found, came.text)

	k := p.keeper()
	p.open(found[1])
	p.clickThrough(button, "Use a passkey instead")
	p.fill("Name", "Telephone")
	p.clickThrough(button, "Add the passkey")
	assert.Equal(t, "/console/o/acme/", p.at(), "she is signed in")
	p.sees("Your account: grace.hopper@example.com")
	assert.Len(t, k.keys(), 1)

	p.clickThrough(button, "Sign out")
	p.clickThrough(button, "Sign in with a passkey")
	p.sees("Your account: grace.hopper@example.com")
	p.open("/console/account/")
	p.sees("This account has no password.")
	p.forgive("404")
	p.open(found[1]) // It worked once.
	p.doesNotSee("Set password")
}
