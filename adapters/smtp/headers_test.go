package smtp_test

import (
	"mime"
	"net/mail"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tocsin/tocsin/adapters/smtp"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// header sends a message and returns the lines of its header, and the parsed message.
func header(t *testing.T, m deliveries.Message) (lines []string, read *mail.Message) {
	t.Helper()
	s := serve(t)
	require.NoError(t, s.open(nil, smtp.Timeouts{}).Dispatch(t.Context(), m))
	content := s.taken()[0].content
	head, _, _ := strings.Cut(content, "\r\n\r\n")
	read, err := mail.ReadMessage(strings.NewReader(content))
	require.NoError(t, err)
	return strings.Split(head, "\r\n"), read
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Plain":                  "Your order is on its way",
		"Nothing":                "",
		"LikeAnEncodedWord":      "=?utf-8?q?Hello?=",
		"WithAnEncodedWord":      "Re: =?iso-8859-1?b?SGVsbG8=?= and more",
		"HalfAnEncodedWord":      "what =? is this ?= there",
		"BeyondASCII":            "Grüße",
		"Long":                   strings.Repeat("a long subject of words ", 20) + "end",
		"LongBeyondASCII":        strings.Repeat("Grüße ✓ und so weiter ", 20) + "Ende",
		"OneLongWord":            strings.Repeat("x", 200),
		"OneVeryLongWord":        strings.Repeat("x", 2000),
		"OneLongWordBeyondASCII": strings.Repeat("ü", 200),
		"SpacesInside":           "a  b",
		"SpacesAround":           " a ",
		"AQuestion":              "=? ?= _ = ?",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			m.Subject = text
			lines, read := header(t, m)
			decoded, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
			require.NoError(t, err)
			assert.Equal(t, text, decoded)
			for i, line := range lines {
				assert.Less(t, len(line), 998)
				if !strings.HasPrefix(line, "Subject:") {
					continue
				}
				if text != "" {
					assert.NotEmpty(t, strings.TrimSpace(strings.TrimPrefix(line, "Subject:")), "the first line is empty")
				}
				for _, l := range lines[i:] {
					if strings.Contains(l, "=?utf-8?q?") {
						assert.LessOrEqual(t, len(l), 76, l)
					}
				}
			}
		})
	}
}

func TestListID(t *testing.T) {
	t.Parallel()
	m := message()
	m.Facts = map[string]string{"organization": "acme", "project": "shop", "application": "web", "event": "order-shipped", "notification": "Tell them"}
	_, read := header(t, m)
	assert.Equal(t, "<order-shipped.web.shop.acme.example.org>", read.Header.Get("List-Id"))
	m.Facts = map[string]string{"organization": "acme", "channel": "mail", "test": "true"}
	_, read = header(t, m)
	assert.Empty(t, read.Header.Get("List-Id"), "a test is of no list")
	m.Facts = map[string]string{"organization": strings.Repeat("a", 100), "project": strings.Repeat("b", 100), "application": strings.Repeat("c", 100), "event": "e"}
	_, read = header(t, m)
	assert.Empty(t, read.Header.Get("List-Id"), "it would be too long")
}
