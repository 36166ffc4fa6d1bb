package webhook

import (
	"encoding/base64"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/tocsin/tocsin/domain/channels"
)

// settings are a channel's settings, fit to be used.
type settings struct {
	secret  []byte // empty: messages are not signed
	headers map[string]string
}

// What a secret looks like, by Standard Webhooks.
const (
	secretPrefix  = "whsec_"
	shortestBytes = 24
	longestBytes  = 64
)

// ours are the headers that nobody else sets: they describe the body, the signature or the connection.
var ours = []string{"Host", "Content-Type", "Content-Length", "Content-Encoding", "Accept-Encoding", "Webhook-Id", "Webhook-Timestamp",
	"Webhook-Signature", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Expect"}

// described is what the settings are.
func described() []channels.Setting {
	return []channels.Setting{
		{Name: "secret", Kind: channels.Line, Secret: true, Help: "Signs every message: whsec_ and 24 to 64 bytes in base64."},
		{Name: "headers", Kind: channels.Lines, Secret: true, Help: "Further headers. They are secret because a token may be among them."},
	}
}

// read takes the settings of a channel apart; the error names every mistake.
func read(c channels.Channel) (settings, error) {
	r := c.ReadSettings(described(), channels.WEBHOOK)
	s := settings{headers: r.Lines("headers")}
	for name, value := range s.headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			r.Wrong("headers."+name, "is not the name of a header")
		case slices.Contains(ours, textproto.CanonicalMIMEHeaderKey(name)):
			r.Wrong("headers."+name, "is a header that the driver sets itself")
		case !httpguts.ValidHeaderFieldValue(value):
			r.Wrong("headers."+name, "cannot be the value of a header")
		}
	}
	if text := r.Line("secret"); text != "" {
		encoded, prefixed := strings.CutPrefix(text, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if !prefixed || err != nil || len(secret) < shortestBytes || len(secret) > longestBytes {
			r.Wrong("secret", "must be %s and %d to %d bytes in base64", secretPrefix, shortestBytes, longestBytes)
		}
		s.secret = secret
	}
	return s, r.Err()
}
