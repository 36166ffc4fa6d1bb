package smtp

import (
	"bytes"
	"encoding/hex"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/tocsin/tocsin/domain/deliveries"
)

// envelope is a message with its SMTP envelope.
type envelope struct {
	from, to string // as in commands: <ada@example.org>
	ascii    bool   // no address needs SMTPUTF8
	content  []byte
}

// headerRoom is the approximate size of a message without its texts. Encoding usually makes texts
// less than a quarter larger.
const headerRoom = 2 << 10

// compose writes a message in the format of RFC 5322. It encodes or refuses every value, so that
// none can add a header or a recipient.
func (s *settings) compose(m deliveries.Message) (envelope, *deliveries.Failure) {
	to, err := mail.ParseAddress(m.To)
	if err == nil {
		to.Address, err = ascii(to.Address)
	}
	if err != nil {
		return envelope{}, deliveries.Unsendable("%q is not an e-mail address", m.To)
	}
	to.Name = ""
	from := mail.Address{Address: s.from.Address}

	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	msg.FromMailAddress(s.from)
	msg.ToMailAddress(to)
	if s.replyTo != nil {
		msg.ReplyToMailAddress(s.replyTo)
	}
	msg.SetGenHeaderPreformatted(gomail.HeaderSubject, subject(m.Subject))
	if id := listID(m.Facts, from.Address); id != "" {
		msg.SetGenHeaderPreformatted("List-Id", id)
	}
	msg.SetDateWithValue(time.Now())
	msg.SetMessageIDWithValue(messageID(m.ID, from.Address))
	// This prevents automatic replies, such as those of a holiday (RFC 3834).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Unsubscribe != "" {
		if !isLink(m.Unsubscribe) {
			return envelope{}, deliveries.Unsendable("the link to unsubscribe cannot be written into a header")
		}
		msg.SetListUnsubscribe(m.Unsubscribe)
		msg.SetListUnsubscribePost()
	}
	if m.Text != "" || m.HTML == "" {
		msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	}
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	var out bytes.Buffer
	out.Grow(headerRoom + (len(m.Text)+len(m.HTML))*5/4)
	if _, err := msg.WriteTo(&out); err != nil {
		return envelope{}, deliveries.Unsendable("the message cannot be written: %w", err)
	}
	return envelope{from: from.String(), to: to.String(), ascii: isASCII(to.Address), content: out.Bytes()}, nil
}

// isLink reports whether a URL needs no encoding in a header.
func isLink(s string) bool {
	link, err := url.Parse(s)
	return err == nil && link.Host != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == ',' }) < 0
}

// atoms matches a text that needs no encoding in a Message-ID or a List-Id.
var atoms = regexp.MustCompile(`^[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]+)*$`)

// messageID returns the Message-ID of a delivery: the same on every attempt, with the domain of the
// sender.
func messageID(id, from string) string {
	if !atoms.MatchString(id) {
		id = "x" + hex.EncodeToString([]byte(id))
	}
	return id + from[strings.LastIndexByte(from, '@'):]
}
