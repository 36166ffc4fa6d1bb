package configs

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// SSO configures single sign-on by OpenID Connect. Without an issuer it is off.
type SSO struct {
	Issuer        string // exactly as in the provider's tokens
	ClientID      string
	ClientSecret  Secret // empty: a public client
	Scopes        []string
	UsernameClaim string
	GroupsClaim   string // empty: none
	Roles         []SSORole
	Label         string // of the button
	Required      bool   // only BreakGlass may sign in another way
	BreakGlass    string // a username
}

// On reports whether single sign-on is configured.
func (s SSO) On() bool { return s.Issuer != "" }

// SSORole is the role that a group of the provider gives.
type SSORole struct {
	Group        string
	Organization string // empty: administrator of the installation
	Role         string
}

// Secret is a text that prints masked; the zero value is empty.
type Secret struct {
	text *string // a pointer to a string for the same reason as in [Database]
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns `***`, or nothing when the secret is empty.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return masked
}

// Format prints the masked secret, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// MarshalText returns the masked secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func parseSecret(text string) (Secret, error) {
	switch {
	case text == "":
		return Secret{}, nil
	case len(text) > 1000 || strings.ContainsFunc(text, unicode.IsControl):
		return Secret{}, errors.New("must be one line of at most 1000 bytes")
	}
	return Secret{text: &text}, nil
}

// issuer parses the issuer of a provider. It is not normalized, not even its last slash: the
// provider must use the same.
func issuer(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return "", errors.New("must be an https URL, for example https://id.example.org/realms/team")
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return "", errors.New("must not carry a user name, a query or a fragment")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "", errors.New("must be https: the keys that sign-ins are checked with come from there")
	}
	return text, nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && a.IsLoopback())
}

// line parses a text of one line, which may be empty.
func line(text string) (string, error) {
	if len(text) > 254 || strings.ContainsFunc(text, unicode.IsControl) {
		return "", errors.New("must be one line of at most 254 bytes")
	}
	return text, nil
}

var scopeForm = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]{1,100}$`) // RFC 6749, section 3.3

func scopes(text string) ([]string, error) {
	var all []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if !scopeForm.MatchString(part) {
			return nil, errors.New("must be scopes, for example openid, profile, email")
		}
		all = append(all, part)
	}
	if !slices.Contains(all, "openid") {
		return nil, errors.New("must have openid among them")
	}
	return all, nil
}

// givenRole matches the part of a rule after its last equals sign: the group's role.
var givenRole = regexp.MustCompile(`^([a-z0-9][a-z0-9-]*):(viewer|operator|administrator)$`)

func ssoRoles(text string) ([]SSORole, error) {
	const expectation = "must be rules, GROUP=ORGANIZATION:ROLE with viewer, operator or administrator, or GROUP=installation, for example staff=acme:viewer, it=installation"
	return list(text, expectation, func(rule string) (r SSORole, valid bool) {
		i := strings.LastIndex(rule, "=")
		if i < 0 || strings.TrimSpace(rule[:i]) == "" {
			return r, false
		}
		r.Group = strings.TrimSpace(rule[:i])
		if given := strings.TrimSpace(rule[i+1:]); given != "installation" {
			found := givenRole.FindStringSubmatch(given)
			if found == nil {
				return r, false
			}
			r.Organization, r.Role = found[1], found[2]
		}
		return r, true
	})
}

// reconcileSSO checks the settings of single sign-on that belong together.
func (c *Config) reconcileSSO(found *Error) {
	needs := func(name string, missing bool, message string) {
		if missing && !found.about(name) {
			found.add(name, c.origin(name), message)
		}
	}
	if c.SSO.On() {
		needs("sso_client_id", c.SSO.ClientID == "", "is required with sso_issuer")
		needs("base_url", c.BaseURL == "", "is required with sso_issuer: the provider sends people back there")
		needs("sso_username_claim", c.SSO.UsernameClaim == "", "is required with sso_issuer")
		needs("sso_label", c.SSO.Label == "", "is required with sso_issuer")
	}
	if c.SSO.Required {
		needs("sso_issuer", !c.SSO.On(), "is required with require_sso")
		needs("sso_break_glass", c.SSO.BreakGlass == "", "is required with require_sso: nobody else could sign in while the provider is away")
	}
}
