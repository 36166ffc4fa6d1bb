package deliveries

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

// ErrLink answers for an unsubscribe link that this installation did not make.
var ErrLink = fault.New(fault.NotFound, "this link is not valid")

// Links signs and reads the tokens of unsubscribe links. A token says whom and what it is about and needs no row in any table, so it
// works for as long as the installation keeps its secret key.
type Links struct{ key [sha256.Size]byte }

// NewLinks derives the signing key from the installation's secret key.
func NewLinks(secret []byte) Links {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("tocsin unsubscribe links"))
	return Links{key: [sha256.Size]byte(mac.Sum(nil))}
}

const macSize = 16

// Token returns the token for a recipient's opt-out.
func (l Links) Token(o OptOut) string {
	b := binary.AppendUvarint(nil, uint64(o.Member))
	b = binary.AppendUvarint(b, uint64(o.Notification))
	b = append(b, o.AddressKey...)
	return base64.RawURLEncoding.EncodeToString(append(b, l.mac(b)...))
}

// Parse reads a token; ErrLink for every text that Token did not return.
func (l Links) Parse(token string) (OptOut, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < macSize {
		return OptOut{}, ErrLink
	}
	body, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	if !hmac.Equal(mac, l.mac(body)) {
		return OptOut{}, ErrLink
	}
	member, n := binary.Uvarint(body)
	notification, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 {
		return OptOut{}, ErrLink
	}
	return OptOut{Member: users.MemberID(member), Notification: subscriptions.NotificationID(notification), AddressKey: string(body[n+m:])}, nil
}

func (l Links) mac(body []byte) []byte {
	mac := hmac.New(sha256.New, l.key[:])
	mac.Write(body)
	return mac.Sum(nil)[:macSize]
}

// MessageID returns the id of a delivery's message: the same on every attempt, and different in every installation.
func (l Links) MessageID(id ID) string {
	return fmt.Sprintf("d%d-%x", id, l.mac(binary.AppendUvarint([]byte("message "), uint64(id)))[:6])
}
