package shoutrrr

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/deliveries"
)

// placeholder is replaced by the address of a recipient.
const placeholder = "{address}"

// samples replace the placeholder when a channel is checked. The service must accept one of them.
var samples = []string{"C0123456789", "+15005550006"}

// settings are a channel's parsed settings.
type settings struct {
	url            string // with the placeholder
	name           string // of the service
	service        service
	addressInLogin bool            // the address is part of the login
	secrets        deliveries.Mask // of the URL
}

// described lists the settings.
func described() []channels.Setting {
	return []channels.Setting{
		{Name: "url", Kind: channels.Line, Required: true, Secret: true, ResetsSecrets: true, Target: true, Help: "A service URL of Shoutrrr. {address} stands for the recipient's address."},
	}
}

// read parses the settings of a channel; the error names every mistake.
func read(c channels.Channel) (settings, error) {
	r := c.ReadSettings(described(), channels.SLACK, channels.PLAINTEXT)
	s := settings{url: r.Required("url")}
	if s.url != "" {
		if err := s.prepare(); err != nil {
			r.Wrong("url", "%s", err)
		}
	}
	return s, r.Err()
}

// prepare finds the service and validates the URL with samples.
func (s *settings) prepare() error {
	scheme, rest, _ := strings.Cut(s.url, "://")
	known := services()
	var exists bool
	if s.service, exists = known[scheme]; !exists {
		names := make([]string, 0, len(known))
		for name := range known {
			names = append(names, name+"://")
		}
		slices.Sort(names)
		return fmt.Errorf("must begin with one of %s", strings.Join(names, ", "))
	}
	s.name = scheme
	rest, _, _ = strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	login := authority[:max(strings.LastIndexByte(authority, '@'), 0)]
	s.addressInLogin = strings.Contains(login, placeholder) || s.service.keyed && strings.Contains(path, placeholder)

	var first error
	for _, sample := range samples {
		err := s.validate(sample)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// urlError is our own error about a URL, not one of the library.
type urlError string

func (d urlError) Error() string { return string(d) }

// validate configures the service with the URL for a sample, without connecting.
func (s *settings) validate(sample string) (err error) {
	link, err := s.link(sample)
	if err != nil {
		return err
	}
	s.secrets = secretMask(link, sample, s.service)
	if s.service.connects && (strings.Contains(link.Host, sample) || hasRoutingParam(link, sample)) {
		return errors.New("cannot have {address} in its host: recipients would choose what to connect to")
	}
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("is not understood by the service %s", s.name)
		}
	}()
	err = s.service.check(link)
	if ours, found := errors.AsType[urlError](err); found {
		return ours
	}
	if err != nil {
		return fmt.Errorf("is not understood by the service %s: %s", s.name, s.secrets.Hide(err.Error()))
	}
	return nil
}

// link inserts an address into the URL. Services decode the parts of URLs and put them into other
// URLs and lists. So it refuses addresses with characters that have a meaning there, and encodes
// all others.
func (s *settings) link(address string) (*url.URL, error) {
	switch {
	case address == "" || address == "." || address == "..",
		strings.ContainsAny(address, `/\?%,`), strings.ContainsFunc(address, unicode.IsControl):
		return nil, errors.New(`the address cannot stand in a service URL: it is empty, . or .., or has one of / \ ? % , in it`)
	}
	var encoded strings.Builder
	for _, b := range []byte(address) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '.' || b == '_' {
			encoded.WriteByte(b)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", b)
		}
	}
	link, err := url.Parse(strings.ReplaceAll(s.url, placeholder, encoded.String()))
	if err != nil {
		return nil, errors.New("is not a URL") // The parser's error contains the URL and its secrets.
	}
	return link, nil
}

// routingParams are the parameters that change the host, port or scheme to which a service
// connects.
var routingParams = []string{"host", "port", "scheme"}

// hasRoutingParam reports whether such a parameter contains a sample.
func hasRoutingParam(link *url.URL, sample string) bool {
	for name, values := range link.Query() {
		if slices.Contains(routingParams, strings.ToLower(name)) && strings.Contains(strings.Join(values, " "), sample) {
			return true
		}
	}
	return false
}

// word matches the parts of secrets that may appear in other URLs.
var word = regexp.MustCompile(`[A-Za-z0-9]{4,}`)

// secretMask returns a mask for the secrets of a URL: all its words except the names of the
// service, the host and parameters.
func secretMask(link *url.URL, sample string, known service) deliveries.Mask {
	texts := []string{link.Path, link.RawPath, link.RawQuery}
	if link.User != nil {
		password, _ := link.User.Password()
		texts = append(texts, link.User.String(), link.User.Username(), password)
	}
	if !known.connects {
		texts = append(texts, link.Host)
	}
	names := []string{strings.TrimPrefix(sample, "+"), link.Scheme}
	for name, values := range link.Query() {
		names = append(names, name)
		texts = append(texts, values...)
	}
	var words []string
	for _, text := range texts {
		words = append(words, word.FindAllString(text, -1)...)
	}
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(names, w) })
	return deliveries.NewMask("…", words...)
}
