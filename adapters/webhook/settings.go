package webhook

import (
	"encoding/base64"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"

	"github.com/tocsin/tocsin/domain/channels"
)

// settings are a channel's parsed settings.
type settings struct {
	secret  []byte // empty: messages are not signed
	headers map[string]string
	hosts   []string // in lower case and ASCII; `*.` matches subdomains. Empty: every host
}

// The format of a secret, by Standard Webhooks.
const (
	secretPrefix = "whsec_"
	minSecret    = 24
	maxSecret    = 64
)

// reservedHeaders are the headers that settings cannot set, because they describe the body, the
// signature or the connection.
var reservedHeaders = []string{"Host", "Content-Type", "Content-Length", "Content-Encoding", "Accept-Encoding", "Webhook-Id", "Webhook-Timestamp",
	"Webhook-Signature", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Expect"}

// described lists the settings.
func described() []channels.Setting {
	return []channels.Setting{
		{Name: "secret", Kind: channels.Line, Secret: true, Help: "Signs every message: whsec_ and 24 to 64 bytes in base64."},
		{Name: "headers", Kind: channels.Lines, Secret: true, Help: "Further headers, which need hosts. They are secret because a token may be among them."},
		{Name: "hosts", Kind: channels.List, ResetsSecrets: true, Target: true,
			Help: "The hosts that messages may go to, one a line: hooks.example.org, *.example.org for the names below, or an address. Required with headers."},
	}
}

// read parses the settings of a channel; the error names every mistake.
func read(c channels.Channel) (settings, error) {
	r := c.ReadSettings(described(), channels.WEBHOOK)
	s := settings{headers: r.Lines("headers")}
	for name, value := range s.headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			r.Wrong("headers."+name, "is not the name of a header")
		case slices.Contains(reservedHeaders, textproto.CanonicalMIMEHeaderKey(name)):
			r.Wrong("headers."+name, "is a header that the driver sets itself")
		case !httpguts.ValidHeaderFieldValue(value):
			r.Wrong("headers."+name, "cannot be the value of a header")
		}
	}
	s.hosts = readHosts(r)
	if len(s.headers) > 0 && len(s.hosts) == 0 && !r.IsWrong("hosts") {
		r.Wrong("hosts", "is required with headers: they are secret, and addresses are chosen by recipients")
	}
	if text := r.Line("secret"); text != "" {
		encoded, prefixed := strings.CutPrefix(text, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if !prefixed || err != nil || len(secret) < minSecret || len(secret) > maxSecret {
			r.Wrong("secret", "must be %s and %d to %d bytes in base64", secretPrefix, minSecret, maxSecret)
		}
		s.secret = secret
	}
	return s, r.Err()
}

// readHosts parses the hosts that messages may go to.
func readHosts(r *channels.SettingsReader) []string {
	var hosts []string
	for _, host := range r.List("hosts") {
		name, below := strings.CutPrefix(host, "*.")
		name, known := hostName(name)
		switch {
		case !known || below && isAddress(name):
			r.Wrong("hosts", "must be host names or addresses, without scheme, port and path")
			return nil
		case below:
			name = "*." + name
		}
		hosts = append(hosts, name)
	}
	return hosts
}

// allows reports whether a message may go to a host, in the form of hostName.
func (s *settings) allows(host string) bool {
	return len(s.hosts) == 0 || slices.ContainsFunc(s.hosts, func(allowed string) bool {
		below, is := strings.CutPrefix(allowed, "*")
		return allowed == host || is && strings.HasSuffix(host, below)
	})
}

// hostName returns a host in lower case and ASCII, as in a request; false when it is invalid.
func hostName(s string) (string, bool) {
	if addr, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return addr.String(), true
	}
	name, err := strings.ToLower(strings.TrimSuffix(s, ".")), error(nil)
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		name, err = idna.Lookup.ToASCII(name)
	}
	return name, err == nil && name != "" && !strings.ContainsAny(name, ":/@?#*[]\\ ")
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
