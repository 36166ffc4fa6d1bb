package smtp_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/outbound"
	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/test/fakenet"
)

// banner is text of a private service that must not be repeated.
const banner = "internal-secret-banner"

func TestReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ verb, answer, words string }{
		"BusyMailServer":            {"greeting", "421 4.3.2 " + banner, "greeting: answered 421 4.3.2"},
		"AServiceOfAnotherKind":     {"greeting", "* OK IMAP4 " + banner, "greeting: " + outbound.NotUnderstood},
		"AWebServer":                {"greeting", "HTTP/1.1 400 " + banner, "greeting: " + outbound.NotUnderstood},
		"AMailServerThatRefuses":    {"RCPT", "550 5.1.1 " + banner, "RCPT TO: answered 550 5.1.1"},
		"AnAnswerThatHidesInNumber": {"RCPT", "550 5.1.1" + banner, "RCPT TO: answered 550"},
		"AServerThatHangsUp":        {"EHLO", drop, "greeting: " + outbound.Broken},
	} {
		for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1"} {
			t.Run(name+"/"+host, func(t *testing.T) {
				t.Parallel()
				s := serve(t)
				s.answer(c.verb, c.answer)
				_, port, err := net.SplitHostPort(s.listener.Addr().String())
				require.NoError(t, err)
				ch := channelTo(host, port, nil)
				failure := dispatch(t, openThrough(t, outbound.New(outbound.Allowed{}, nil), ch, smtp.Timeouts{}), message())
				address := net.JoinHostPort(host, port)
				require.EqualError(t, failure, address+": connecting: "+outbound.NotAllowed)
				assert.Equal(t, unreachable, kindOf(failure))
				assert.NotContains(t, failure.Detailed(), banner)
				assert.Zero(t, s.opened())

				ch.Unrestricted = true
				failure = dispatch(t, openThrough(t, outbound.New(outbound.Allowed{}, nil), ch, smtp.Timeouts{}), message())
				require.EqualError(t, failure, address+": "+c.words, "what a private service says is not repeated")
				if c.answer != drop {
					assert.Contains(t, failure.Detailed(), banner, "but to those who look after the installation")
				}
			})
		}
	}
}

// TestDNSRebinding plays a name server that changes its answer between two connections.
func TestDNSRebinding(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.answer("RCPT", "421 4.7.0 bye") // This ends the connection.
	inside := fakenet.New(map[string]fakenet.Host{"mail.example.org": {Addrs: []string{fakenet.PublicAddress, "10.0.0.7"}, Listener: s.listener.Addr().String()}})
	d := openThrough(t, inside.Guard(outbound.Allowed{}), channelTo("mail.example.org", "25", nil), smtp.Timeouts{})
	require.EqualError(t, dispatch(t, d, message()), "mail.example.org:25: RCPT TO: 421 4.7.0 bye", "the server is public, so its words are repeated")
	require.EqualError(t, dispatch(t, d, message()), "mail.example.org:25: connecting: "+outbound.NotAllowed)
	assert.Equal(t, 1, inside.Made())
}

func TestConnectionErrors(t *testing.T) {
	t.Parallel()
	g := fakenet.New(map[string]fakenet.Host{"mail.example.org": fakenet.At("127.0.0.1:1")}).Guard(outbound.Allowed{})
	require.EqualError(t, dispatch(t, openThrough(t, g, channelTo("nowhere.example.org", "25", nil), smtp.Timeouts{}), message()), "nowhere.example.org:25: connecting: "+outbound.Unresolved)
	require.EqualError(t, dispatch(t, openThrough(t, g, channelTo("mail.example.org", "25", nil), smtp.Timeouts{}), message()), "mail.example.org:25: connecting: "+outbound.Refused)
}
