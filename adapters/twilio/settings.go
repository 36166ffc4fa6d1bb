package twilio

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
)

// defaultURL is the default URL of the API.
const defaultURL = "https://api.twilio.com"

// settings are a channel's parsed settings.
type settings struct {
	account  string
	token    string
	from     string
	service  string
	messages string // the URL that messages are posted to
}

// The formats of ids and senders.
var (
	accountSID = regexp.MustCompile(`^AC[0-9a-fA-F]{32}$`)
	serviceSID = regexp.MustCompile(`^MG[0-9a-fA-F]{32}$`)
	// A number, a short code, or a name (at most 11 characters, one of them a letter).
	number = regexp.MustCompile(`^(\+[1-9]\d{6,14}|\d{3,8})$`)
	name   = regexp.MustCompile(`^[0-9A-Za-z &+_-]{1,11}$`)
	letter = regexp.MustCompile(`[A-Za-z]`)
)

// described lists the settings.
func described() []channels.Setting {
	return []channels.Setting{
		{Name: "account_sid", Kind: channels.Line, Required: true, Help: "AC and 32 hexadecimal digits."},
		{Name: "auth_token", Kind: channels.Line, Required: true, Secret: true, Help: "The auth token of the account."},
		{Name: "from", Kind: channels.Line, Help: "A number with country code, a short code, or a name of at most 11 characters; this or messaging_service_sid."},
		{Name: "messaging_service_sid", Kind: channels.Line, Help: "MG and 32 hexadecimal digits: Twilio chooses the sender."},
		{Name: "base_url", Kind: channels.Line, Default: defaultURL, ResetsSecrets: true, Target: true,
			Help: "The URL of the API: of another region or of a compatible service. http:// only for this machine."},
	}
}

// read parses the settings of a channel; the error names every mistake.
func read(c channels.Channel) (settings, error) {
	r := c.ReadSettings(described(), channels.SMS)
	s := settings{account: r.Required("account_sid"), token: r.Required("auth_token"), from: r.Line("from"), service: r.Line("messaging_service_sid")}
	if s.account != "" && !accountSID.MatchString(s.account) {
		r.Wrong("account_sid", "must be AC and 32 hexadecimal digits")
	}
	if s.service != "" && !serviceSID.MatchString(s.service) {
		r.Wrong("messaging_service_sid", "must be MG and 32 hexadecimal digits")
	}
	switch {
	case s.from == "" && s.service == "":
		r.Wrong("from", "is required unless there is a messaging_service_sid")
	case s.from != "" && s.service != "":
		r.Wrong("from", "cannot be given together with messaging_service_sid")
	case s.from != "" && !number.MatchString(s.from) && (!name.MatchString(s.from) || !letter.MatchString(s.from)):
		r.Wrong("from", "must be a number such as +15005550006, a short code, or a name of at most 11 letters and digits")
	}
	base := r.Line("base_url")
	if base == "" {
		base = defaultURL
	}
	parsed, err := url.Parse(base)
	switch {
	case err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
		r.Wrong("base_url", "must be a URL of scheme, host and perhaps path")
	case parsed.Scheme != "https" && (parsed.Scheme != "http" || !isLoopback(parsed.Hostname())):
		r.Wrong("base_url", "must begin with https://, or the token would be sent in the clear")
	}
	s.messages = strings.TrimRight(base, "/") + "/2010-04-01/Accounts/" + s.account + "/Messages.json"
	return s, r.Err()
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
