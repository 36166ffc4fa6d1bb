package smtp

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/mail"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/tocsin/tocsin/domain/channels"
)

// The kinds of encryption.
const (
	startTLS   = "starttls" // encrypted with STARTTLS before anything secret is sent, or not used
	implicit   = "tls"      // from its first byte
	plain      = "none"
	submission = 465 // the port where encryption is implicit (RFC 8314)
)

// settings are a channel's parsed settings.
type settings struct {
	host     string
	address  string // host:port
	username string
	password string
	from     *mail.Address
	replyTo  *mail.Address
	helo     string
	security string
	tls      *tls.Config
}

// described lists the settings.
func described() []channels.Setting {
	return []channels.Setting{
		{Name: "host", Kind: channels.Line, Required: true, ResetsSecrets: true, Target: true, Help: "Name or IP address of the mail server."},
		{Name: "port", Kind: channels.Integer, Required: true, ResetsSecrets: true, Target: true, Help: "587 for submission, 465 for submission with TLS, 25 for a relay."},
		{Name: "username", Kind: channels.Line, Help: "The username for signing in. It needs a password."},
		{Name: "password", Kind: channels.Line, Secret: true, Help: "The password of the username."},
		{Name: "from", Kind: channels.Line, Required: true, Help: "The sender: notify@example.org or Acme <notify@example.org>. Bounces go there too."},
		{Name: "from_name", Kind: channels.Line, Help: "The sender's name, if from has none."},
		{Name: "reply_to", Kind: channels.Line, Help: "The address for replies."},
		{Name: "tls", Kind: channels.Choice, Words: []string{startTLS, implicit, plain}, Default: "tls on port 465, else starttls", ResetsSecrets: true,
			Help: "starttls: encrypted before anything else is sent, or the attempt fails. tls: encrypted from the first byte. none: not encrypted."},
		{Name: "tls_ca", Kind: channels.Text, Default: "the system's", ResetsSecrets: true, Help: "The certificate authorities to trust, in PEM."},
		{Name: "helo", Kind: channels.Line, Default: "the machine's name", Help: "The name for HELO; some servers require one that resolves."},
	}
}

// read parses the settings of a channel; the error names every mistake.
func read(c channels.Channel) (settings, error) {
	r := c.ReadSettings(described(), channels.EMAIL)
	s := settings{host: r.Required("host"), username: r.Line("username"), password: r.Line("password"), helo: r.Line("helo")}
	port := r.Integer("port", 1, 65535)
	if c.Settings["port"] == nil {
		r.Wrong("port", "is required")
	}
	s.address = net.JoinHostPort(s.host, strconv.Itoa(port))
	if strings.ContainsAny(s.host, " /@\\") || strings.Contains(s.host, ":") && !isIP(s.host) {
		r.Wrong("host", "must be a host name or an IP address, without a port")
	}

	s.from = readAddress(r, "from", r.Required("from"))
	if name := r.Line("from_name"); name != "" && s.from != nil {
		if s.from.Name != "" {
			r.Wrong("from_name", "is a second name: from has one already")
		}
		s.from.Name = name
	}
	s.replyTo = readAddress(r, "reply_to", r.Line("reply_to"))

	if s.username == "" && s.password != "" {
		r.Wrong("username", "is required with a password")
	}
	if s.username != "" && s.password == "" {
		r.Wrong("password", "is required with a username")
	}

	if strings.ContainsAny(s.helo, " <>") {
		r.Wrong("helo", "must be a host name")
	}
	if s.helo == "" {
		s.helo = hostname()
	}

	words := []string{startTLS, implicit, plain}
	if port == submission {
		words = []string{implicit, startTLS, plain}
	}
	s.security = r.Word("tls", words...)
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	if pem := r.Text("tls_ca"); pem != "" {
		s.tls.RootCAs = x509.NewCertPool()
		if !s.tls.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			r.Wrong("tls_ca", "must be certificates in PEM")
		}
	}
	return s, r.Err()
}

// readAddress parses an address with or without a name; nil when it is missing or invalid.
func readAddress(r *channels.SettingsReader, name, value string) *mail.Address {
	if value == "" {
		return nil
	}
	a, err := mail.ParseAddress(value)
	if err == nil {
		a.Address, err = ascii(a.Address)
	}
	if err != nil || !isASCII(a.Address) {
		r.Wrong(name, "must be an e-mail address, with or without a name: ada@example.org or Ada <ada@example.org>")
		return nil
	}
	return a
}

// ascii converts the domain of an address to ASCII (IDNA). It does not change the local part.
func ascii(address string) (string, error) {
	at := strings.LastIndexByte(address, '@')
	domain := address[at+1:]
	if isASCII(domain) {
		return address, nil
	}
	domain, err := idna.Lookup.ToASCII(domain)
	return address[:at+1] + domain, err
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 126 }) < 0
}

func isIP(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// hostname returns the name of this machine, for greeting mail servers.
func hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" || strings.ContainsAny(name, " <>\r\n") || !isASCII(name) {
		return "localhost"
	}
	return name
}
