package deliveries

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/subscriptions"
	"github.com/tocsin/tocsin/domain/users"
)

// Errors of unsubscribe links.
var (
	ErrLink         = fault.New(fault.NotFound, "this link is not valid")                   // not made by this installation
	ErrLinkOutdated = fault.New(fault.NotFound, "what this link is about no longer exists") // the member or the notification
)

// UnsubscribePath is the path of unsubscribe links, before the token.
const UnsubscribePath = "/unsubscribe/"

// Links signs and parses the tokens of unsubscribe links. A token names the recipient and the
// notification and needs no row in any table, so it works for as long as the installation keeps its
// secret key, as the current one or a previous one. It is encrypted: links end up in the logs of
// proxies and in the archives of link scanners, where an address does not belong.
type Links struct {
	linkKeys

	previous []linkKeys // only for parsing
}

// linkKeys are the keys derived from one secret.
type linkKeys struct {
	key    [sha256.Size]byte
	cipher cipher.Block
}

// NewLinks derives the keys of tokens from the installation's secret key, and from the previous
// ones.
func NewLinks(secret []byte, previous ...[]byte) Links {
	l := Links{linkKeys: newLinkKeys(secret)}
	for _, s := range previous {
		l.previous = append(l.previous, newLinkKeys(s))
	}
	return l
}

func newLinkKeys(secret []byte) linkKeys {
	derive := func(purpose string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(purpose))
		return mac.Sum(nil)
	}
	block, err := aes.NewCipher(derive("tocsin unsubscribe links, hidden"))
	if err != nil {
		panic("deliveries: " + err.Error()) // Impossible: derive returns a key for AES-256.
	}
	return linkKeys{key: [sha256.Size]byte(derive("tocsin unsubscribe links")), cipher: block}
}

const macSize = aes.BlockSize

// Token returns the token for a recipient's opt-out, always the same one: a synthetic IV, which is
// the MAC of the content, and the content, encrypted under that IV.
func (l Links) Token(o OptOut) string {
	b := binary.AppendUvarint(nil, uint64(o.Member))
	b = binary.AppendUvarint(b, uint64(o.Notification))
	b = append(b, o.AddressKey...)
	mac := l.mac(b)
	cipher.NewCTR(l.cipher, mac).XORKeyStream(b, b)
	return base64.RawURLEncoding.EncodeToString(append(mac, b...))
}

// Parse parses a token; ErrLink for every text that Token did not return.
func (l Links) Parse(token string) (OptOut, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < macSize || strings.ContainsAny(token, "\r\n") { // The decoder would skip line breaks.
		return OptOut{}, ErrLink
	}
	if o, err := l.read(raw); err == nil {
		return o, nil
	}
	for _, k := range l.previous {
		if o, err := k.read(raw); err == nil {
			return o, nil
		}
	}
	return OptOut{}, ErrLink
}

// read returns the content of a token, if it was made with these keys.
func (k linkKeys) read(raw []byte) (OptOut, error) {
	mac, body := raw[:macSize], make([]byte, len(raw)-macSize)
	cipher.NewCTR(k.cipher, mac).XORKeyStream(body, raw[macSize:])
	if !hmac.Equal(mac, k.mac(body)) {
		return OptOut{}, ErrLink
	}
	member, n := binary.Uvarint(body)
	notification, m := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || m <= 0 {
		return OptOut{}, ErrLink
	}
	return OptOut{Member: users.MemberID(member), Notification: subscriptions.NotificationID(notification), AddressKey: string(body[n+m:])}, nil
}

func (k linkKeys) mac(body []byte) []byte {
	mac := hmac.New(sha256.New, k.key[:])
	mac.Write(body)
	return mac.Sum(nil)[:macSize]
}

// MessageID returns the id of a delivery's message: the same on every attempt, and different in
// every installation.
func (l Links) MessageID(id ID) string {
	return fmt.Sprintf("d%d-%x", id, l.mac(binary.AppendUvarint([]byte("message "), uint64(id)))[:6])
}
