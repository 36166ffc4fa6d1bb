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

// letter is a message ready to be sent.
type letter struct {
	from, to string // as in commands: <ada@example.org>
	ascii    bool   // no address needs SMTPUTF8
	content  []byte
}

// headerRoom is about how many bytes a message has besides its texts, which usually grow by
// less than a quarter when they are encoded.
const headerRoom = 2 << 10

// compose writes a message in the format of RFC 5322. No value can add a header or a recipient:
// each is encoded, or refused.
func (s *settings) compose(m deliveries.Message) (letter, *deliveries.Failure) {
	to, err := mail.ParseAddress(m.To)
	if err == nil {
		to.Address, err = ascii(to.Address)
	}
	if err != nil {
		return letter{}, deliveries.Refused("%q is not an e-mail address", m.To)
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
	// This keeps automatic replies such as "I am on holiday" away (RFC 3834).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Unsubscribe != "" {
		if !isLink(m.Unsubscribe) {
			return letter{}, deliveries.Refused("the link to unsubscribe cannot be written into a header")
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
		return letter{}, deliveries.Refused("the message cannot be written: %w", err)
	}
	return letter{from: from.String(), to: to.String(), ascii: isASCII(to.Address), content: out.Bytes()}, nil
}

// isLink reports whether a URL needs no encoding in a header.
func isLink(s string) bool {
	link, err := url.Parse(s)
	return err == nil && link.Host != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == ',' }) < 0
}

// atoms matches what may stand before the @ of a Message-ID unencoded.
var atoms = regexp.MustCompile(`^[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]+)*$`)

// messageID makes a Message-ID of a delivery's identity: the same on every attempt, and of this
// sender.
func messageID(id, from string) string {
	if !atoms.MatchString(id) {
		id = "x" + hex.EncodeToString([]byte(id))
	}
	return id + from[strings.LastIndexByte(from, '@'):]
}
