package smtp_test

import (
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// FuzzMessage checks that every message is refused before anything is sent, or arrives as one
// message to one recipient with exactly the right headers.
func FuzzMessage(f *testing.F) {
	f.Add("d1.0a", "ada@example.org", "Hello", "text", "<p>", "https://example.org/u/1")
	f.Add("a\r\nb", "ada@example.org>\r\nRCPT TO:<eve@example.org", "x\r\nBcc: eve@example.org", "\r\n.\r\nMAIL FROM:<eve@example.org>\r\n", "", "https://example.org/>,<mailto:eve@example.org")
	f.Add("", `"a\"b c"@example.org`, "\x00\x85 ", ".\n..\n", strings.Repeat("x", 2000), "https://example.org/?a,b")
	f.Add("é", "Ada <ada@bücher.example>", "=?UTF-8?Q?=0D=0ABcc:?=", "\xff\xfe", "\r", "")
	s := serve(f)
	d := open(f, s.channel(nil), smtp.Timeouts{})
	headers := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "List-Unsubscribe", "List-Unsubscribe-Post", "Message-Id",
		"Mime-Version", "Subject", "To"}
	f.Fuzz(func(t *testing.T, id, to, subject, text, html, unsubscribe string) {
		before := len(s.taken())
		err := d.Dispatch(t.Context(), deliveries.Message{ID: id, To: to, Subject: subject, Text: text, HTML: html, Unsubscribe: unsubscribe})
		if err != nil {
			failure := deliveries.FailureOf(err)
			require.False(t, failure.Temporary || failure.Channel, failure)
			require.Len(t, s.taken(), before)
			return
		}
		require.Len(t, s.taken(), before+1, "one message became several")
		taken := s.taken()[before]
		require.Equal(t, "FROM:<notify@example.org> BODY=8BITMIME", taken.from)
		m, err := mail.ReadMessage(strings.NewReader(taken.content))
		require.NoError(t, err)
		for name, values := range m.Header {
			assert.True(t, slices.Contains(headers, name), name)
			assert.Len(t, values, 1, name)
		}
		recipients, err := m.Header.AddressList("To")
		require.NoError(t, err)
		require.Len(t, recipients, 1)
		require.Equal(t, taken.to, "TO:"+(&mail.Address{Address: recipients[0].Address}).String())
	})
}
