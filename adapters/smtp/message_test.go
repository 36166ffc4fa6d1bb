package smtp_test

import (
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// sent sends one message and returns what the server received.
func sent(t *testing.T, m deliveries.Message, changes channels.Settings) (received, *mail.Message) {
	t.Helper()
	s := serve(t)
	require.NoError(t, s.open(changes, smtp.Timeouts{}).Dispatch(t.Context(), m))
	require.Len(t, s.taken(), 1)
	r := s.taken()[0]
	for line := range strings.SplitSeq(r.content, "\r\n") {
		require.LessOrEqual(t, len(line), 998)
		require.NotContains(t, line, "\n")
		require.NotContains(t, line, "\r")
	}
	parsed, err := mail.ReadMessage(strings.NewReader(r.content))
	require.NoError(t, err)
	return r, parsed
}

// parts returns the texts of a message by their type.
func parts(t *testing.T, m *mail.Message) map[string]string {
	t.Helper()
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	require.NoError(t, err)
	texts := map[string]string{}
	keep := func(contentType, encoding string, r io.Reader) {
		kind, params, err := mime.ParseMediaType(contentType)
		require.NoError(t, err)
		assert.Equal(t, "UTF-8", params["charset"])
		if encoding == "quoted-printable" {
			r = quotedprintable.NewReader(r)
		}
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		texts[kind] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	if kind != "multipart/alternative" {
		keep(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body)
		return texts
	}
	var order []string
	r := multipart.NewReader(m.Body, params["boundary"])
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		order = append(order, strings.Split(p.Header.Get("Content-Type"), ";")[0])
		keep(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p)
	}
	assert.Equal(t, []string{"text/plain", "text/html"}, order, "the best comes last")
	return texts
}

func TestMessage(t *testing.T) {
	t.Parallel()
	t.Run("CarriesEverything", func(t *testing.T) {
		t.Parallel()
		m := message()
		m.Subject = "Grüße, Ada ✓ " + strings.Repeat("und so weiter ", 20)
		m.Text = "Zeile 1 ✓\n.\n..zwei\n" + strings.Repeat("lang ", 500) + "\n"
		m.HTML = "<p>✓</p>"
		m.Unsubscribe = "https://tocsin.example.org/unsubscribe/" + strings.Repeat("x", 300) + "?a=b&c=d"
		r, parsed := sent(t, m, channels.Settings{"from_name": "Tøcsin, Inc.", "from": "notify@example.org", "reply_to": "help@example.org"})
		assert.Equal(t, "FROM:<notify@example.org> BODY=8BITMIME", r.from)
		assert.Equal(t, "TO:<ada@example.org>", r.to)
		from, err := parsed.Header.AddressList("From")
		require.NoError(t, err)
		assert.Equal(t, []*mail.Address{{Name: "Tøcsin, Inc.", Address: "notify@example.org"}}, from)
		assert.Equal(t, "<ada@example.org>", parsed.Header.Get("To"))
		assert.Equal(t, "<help@example.org>", parsed.Header.Get("Reply-To"))
		subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
		require.NoError(t, err)
		assert.Equal(t, m.Subject, subject)
		assert.Equal(t, "<d2.1a2b3c@example.org>", parsed.Header.Get("Message-ID"))
		assert.Equal(t, "<"+m.Unsubscribe+">", parsed.Header.Get("List-Unsubscribe"))
		assert.Equal(t, "List-Unsubscribe=One-Click", parsed.Header.Get("List-Unsubscribe-Post"))
		assert.Equal(t, "auto-generated", parsed.Header.Get("Auto-Submitted"))
		date, err := parsed.Header.Date()
		require.NoError(t, err)
		assert.WithinDuration(t, time.Now(), date, time.Minute)
		assert.Equal(t, map[string]string{"text/plain": m.Text, "text/html": m.HTML}, parts(t, parsed))
	})
	t.Run("WithoutALinkThereIsNoHeaderOfIt", func(t *testing.T) {
		t.Parallel()
		_, parsed := sent(t, message(), nil)
		assert.Empty(t, parsed.Header.Get("List-Unsubscribe"))
		assert.Empty(t, parsed.Header.Get("List-Unsubscribe-Post"))
		assert.Empty(t, parsed.Header.Get("Reply-To"))
	})
	for name, c := range map[string]struct {
		text, html string
		want       map[string]string
	}{
		"TextOnly": {"t\n", "", map[string]string{"text/plain": "t\n"}},
		"HTMLOnly": {"", "<p>\n", map[string]string{"text/html": "<p>\n"}},
		"Neither":  {"", "", map[string]string{"text/plain": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			m.Text, m.HTML = c.text, c.html
			_, parsed := sent(t, m, nil)
			assert.Equal(t, c.want, parts(t, parsed))
		})
	}
	t.Run("NoInjectedHeader", func(t *testing.T) {
		t.Parallel()
		m := message()
		const evil = "x\r\nBcc: eve@example.org\r\n\r\nbody\nX-Evil: 1\rX-Evil: 2"
		m.ID, m.Subject, m.Text, m.HTML = evil, evil, evil, evil
		r, parsed := sent(t, m, nil)
		assert.Empty(t, parsed.Header.Get("Bcc"))
		assert.Empty(t, parsed.Header.Get("X-Evil"))
		assert.Equal(t, "TO:<ada@example.org>", r.to)
		assert.Equal(t, "<x780d0a4263633a20657665406578616d706c652e6f72670d0a0d0a626f64790a582d4576696c3a20310d582d4576696c3a2032@example.org>", parsed.Header.Get("Message-ID"))
	})
	for name, change := range map[string]func(*deliveries.Message){
		"ARecipientWithALine":      func(m *deliveries.Message) { m.To = "ada@example.org>\r\nRCPT TO:<eve@example.org" },
		"TwoRecipients":            func(m *deliveries.Message) { m.To = "ada@example.org, eve@example.org" },
		"ARecipientWithoutADomain": func(m *deliveries.Message) { m.To = "ada" },
		"NoRecipient":              func(m *deliveries.Message) { m.To = "" },
		"ALinkWithALine":           func(m *deliveries.Message) { m.Unsubscribe = "https://example.org/\r\nBcc: eve@example.org" },
		"ALinkThatEndsEarly":       func(m *deliveries.Message) { m.Unsubscribe = "https://example.org/>,<mailto:eve@example.org" },
		"ALinkBeyondASCII":         func(m *deliveries.Message) { m.Unsubscribe = "https://example.org/?ü" },
		"ALinkToNowhere":           func(m *deliveries.Message) { m.Unsubscribe = "/unsubscribe" },
		"ADomainThatCannotBe":      func(m *deliveries.Message) { m.To = "ada@-ü.org" },
		"UnsupportedLocalPart":     func(m *deliveries.Message) { m.To = "jörg@example.org" }, // The server does not offer SMTPUTF8.
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			m := message()
			change(&m)
			failure := dispatch(t, s.open(nil, smtp.Timeouts{}), m)
			assert.False(t, failure.Temporary, failure)
			assert.False(t, failure.Channel, failure)
			assert.Equal(t, s.opened() == 0, failure.Unsent, failure)
			assert.Empty(t, s.taken())
			assert.Zero(t, s.count("RCPT"))
		})
	}
	for name, c := range map[string]struct{ to, envelope string }{
		"ADomainBeyondASCIIIsTranslated": {"ada@bücher.example", "TO:<ada@xn--bcher-kva.example>"},
		"AQuotedLocalPartStaysQuoted":    {`"ada b"@example.org`, `TO:<"ada b"@example.org>`},
		"ANameIsLeftOut":                 {"Ada <ada@example.org>", "TO:<ada@example.org>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			m.To = c.to
			r, parsed := sent(t, m, nil)
			assert.Equal(t, c.envelope, r.to)
			assert.Equal(t, strings.TrimPrefix(c.envelope, "TO:"), parsed.Header.Get("To"))
		})
	}
	t.Run("NonASCIILocalPartNeedsSMTPUTF8", func(t *testing.T) {
		t.Parallel()
		s := serve(t)
		s.answer("EHLO", "250-ready\r\n250-8BITMIME\r\n250 SMTPUTF8")
		d := s.open(nil, smtp.Timeouts{})
		m := message()
		require.NoError(t, d.Dispatch(t.Context(), m))
		m.To = "jörg@example.org"
		require.NoError(t, d.Dispatch(t.Context(), m))
		assert.Equal(t, "FROM:<notify@example.org> BODY=8BITMIME", s.taken()[0].from)
		assert.Equal(t, "FROM:<notify@example.org> BODY=8BITMIME SMTPUTF8", s.taken()[1].from)
		assert.Equal(t, "TO:<jörg@example.org>", s.taken()[1].to)
	})
	t.Run("TheIdentityIsTheSameOnEveryAttempt", func(t *testing.T) {
		t.Parallel()
		_, first := sent(t, message(), nil)
		_, again := sent(t, message(), nil)
		assert.Equal(t, first.Header.Get("Message-ID"), again.Header.Get("Message-ID"))
	})
}
