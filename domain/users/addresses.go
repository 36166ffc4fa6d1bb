package users

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// MaxAddress is the longest address value, in characters (decisions 2).
const MaxAddress = 2048

// The limits on the number of digits of a phone number without country code.
const (
	minNational = 7
	maxNational = 15
)

// EmailName is the name of the address that POST and import give a member.
const EmailName = "email"

// AddressType says what kind of thing an address is; it is derived from the value, never chosen.
type AddressType string

// The types (decisions 4).
const (
	Email   AddressType = "email"
	Phone   AddressType = "phone"
	URL     AddressType = "url"
	Generic AddressType = "generic"
)

// Address is one way to reach a member. Its value is unique per member.
type Address struct {
	ID     AddressID
	Member MemberID
	Value  string
	Name   string
	Type   AddressType
}

// NewAddress derives the type of an address from its value; the name defaults to the type. A phone
// number is kept as E.164, every other value as it was sent.
func NewAddress(value, name string) (Address, error) { return NewAddressIn("", value, name) }

// NewAddressIn is NewAddress where phone numbers without country code are those of a region, such
// as DE. Empty: they are refused.
func NewAddressIn(region, value, name string) (Address, error) {
	var faults fault.Fields
	a := Address{Value: strings.TrimSpace(value)}
	switch {
	case a.Value == "":
		faults.Addf("value", "is required")
	case !utf8.ValidString(a.Value):
		faults.Addf("value", "is not valid UTF-8")
	case utf8.RuneCountInString(a.Value) > MaxAddress:
		faults.Addf("value", "is longer than %d characters", MaxAddress)
	case strings.ContainsFunc(a.Value, unicode.IsControl):
		faults.Addf("value", "contains a control character")
	default:
		a.Value, a.Type = derive(region, a.Value)
		if reason := unreachable(region, a); reason != "" {
			faults.Addf("value", "%s", reason)
		}
	}
	label, err := names.OptionalLabel("name", name)
	faults.Add("name", err)
	a.Name = label
	if a.Name == "" {
		a.Name = string(a.Type)
	}
	return a, faults.Err()
}

// NewEmailAddress is the address that POST and import give a member; the value is a checked e-mail.
func NewEmailAddress(email string) Address {
	return Address{Value: email, Name: EmailName, Type: Email}
}

// Key is the form under which two values of one member count as the same address: e-mails without
// regard to case, all else to the letter. It is short enough for every index.
func (a Address) Key() string {
	key := a.Value
	if a.Type == Email {
		key = names.Fold(key)
	}
	const longest, hashed = 4 * names.MaxIdentifier, "sha256:"
	if len(key) > longest || strings.HasPrefix(key, hashed) { // Hashing the look-alikes too keeps them apart.
		sum := sha256.Sum256([]byte(key))
		return hashed + hex.EncodeToString(sum[:])
	}
	return key
}

// ParseEmail checks an e-mail address: an addr-spec alone, with a domain, of at most 254
// characters, whose parts are no longer than mail allows.
func ParseEmail(field, s string) (string, error) {
	s, err := names.Identifier(field, s)
	if err != nil {
		return "", err
	}
	if !isEmail(s) {
		return "", fault.Field(field, "is not an e-mail address")
	}
	if reason := undeliverable(s); reason != "" {
		return "", fault.Field(field, "is not an e-mail address: %s", reason)
	}
	return s, nil
}

// Lengths of the parts of an e-mail address, in bytes (RFC 5321, 4.5.3.1, and RFC 1035, 2.3.4).
const (
	maxLocalPart   = 64
	maxDomainLabel = 63
)

// undeliverable says why no server can take mail for an addr-spec; empty: it can.
func undeliverable(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at > maxLocalPart {
		return "the part before the @ is longer than 64 bytes"
	}
	if strings.HasPrefix(s[at+1:], "[") {
		return "" // An address literal has no labels.
	}
	for label := range strings.SplitSeq(s[at+1:], ".") {
		switch {
		case strings.HasPrefix(label, "-"), strings.HasSuffix(label, "-"):
			return "a part of its domain begins or ends with -"
		case len(label) > maxDomainLabel && isDotAtom(label):
			return "a part of its domain is longer than 63 characters"
		}
	}
	return ""
}

// national is a phone number as people write it for their own country: digits in groups, or a trunk
// zero in front. Digits alone may be the number of a chat, which is a generic address.
var national = regexp.MustCompile(`^(0[0-9]{6,14}|\(?[0-9]{1,6}\)?([ ./-]+\(?[0-9]{1,12}\)?){1,6})$`)

// unreachable says why nothing could ever be sent to an address; empty: something could.
func unreachable(region string, a Address) string {
	invisible, found := names.Invisible(a.Value)
	switch {
	case found:
		return fmt.Sprintf("contains the invisible character %U", invisible)
	case a.Type == Email && undeliverable(a.Value) != "":
		return "is not an e-mail address: " + undeliverable(a.Value)
	case a.Type == Generic && region != "" && IsNational(a.Value):
		return "is no phone number of " + region + ", the region of numbers without a country code here"
	case a.Type == Generic && IsNational(a.Value) && strings.HasPrefix(a.Value, "00"):
		return "is a phone number that starts with 00: write + instead, as in +49 30 123456"
	case a.Type == Generic && IsNational(a.Value):
		return "is a phone number without its country code: write it as +49 30 123456"
	}
	return ""
}

// IsNational reports whether a value has the form and the length of a phone number without country
// code, and is neither an IP address nor a date.
func IsNational(value string) bool {
	value = strings.TrimSpace(value)
	digits := 0
	for _, r := range value {
		if '0' <= r && r <= '9' {
			digits++
		}
	}
	if digits < minNational || digits > maxNational || !national.MatchString(value) {
		return false
	}
	_, notIP := netip.ParseAddr(value)
	_, notDate := time.Parse(time.DateOnly, value)
	return notIP != nil && notDate != nil
}

func derive(region, value string) (string, AddressType) {
	if utf8.RuneCountInString(value) <= names.MaxIdentifier && isEmail(value) {
		return value, Email
	}
	number := value
	if region != "" && IsNational(value) {
		if n, err := phonenumbers.Parse(value, region); err == nil {
			number = phonenumbers.Format(n, phonenumbers.E164)
		}
	}
	if number, possible := e164(number); possible {
		return number, Phone
	}
	if u, err := url.Parse(value); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
		return value, URL
	}
	return value, Generic
}

// e164 reads a number until it stays as it is: each reading takes one trunk prefix away, so that
// +43 00 12345 needs two. Otherwise an address that is sent back as it was stored could become
// another one.
func e164(value string) (number string, possible bool) {
	if !strings.HasPrefix(value, "+") {
		return "", false
	}
	for range value { // A reading that changes the number shortens it.
		n, err := phonenumbers.Parse(value, "")
		if err != nil || !phonenumbers.IsPossibleNumber(n) {
			return "", false
		}
		number = phonenumbers.Format(n, phonenumbers.E164)
		if number == value {
			return number, true
		}
		value = number
	}
	return "", false
}

// isEmail accepts what the parser of net/mail reads as one address and would write the same way
// again, so that display names, comments and folding white space are out and a quoted local part is
// in.
func isEmail(s string) bool {
	if local, domain, found := strings.Cut(s, "@"); found && isDotAtom(local) && isDotAtom(domain) {
		return true // That parser accepts it too, and takes much longer: it counts in imports.
	}
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" {
		return false
	}
	return a.Address == s || (&mail.Address{Address: a.Address}).String() == "<"+s+">"
}

// isDotAtom reports whether s is of the plain form that nearly all e-mail addresses have on both
// sides (RFC 5322, 3.2.3).
func isDotAtom(s string) bool {
	previous := byte('.')
	for i := range len(s) {
		c := s[i]
		letterOrDigit := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letterOrDigit && strings.IndexByte(".!#$%&'*+-/=?^_`{|}~", c) < 0 || c == '.' && previous == '.' {
			return false
		}
		previous = c
	}
	return previous != '.'
}

// AddressRepository keeps the addresses of members.
type AddressRepository interface {
	// Ensure adds the addresses that their members do not hold yet and returns all of them as
	// stored, in the order given; created says which are new. The keys given for one member are
	// distinct. ErrNotFound if one is not a member of the organization.
	Ensure(ctx context.Context, org orgs.ID, as []Address) (stored []Address, created []bool, err error)
	// List returns the member's addresses by id, at most limit after the given one.
	List(ctx context.Context, org orgs.ID, m MemberID, after AddressID, limit int) ([]Address, error)
	// ByID finds an address of the member; ErrAddressNotFound.
	ByID(ctx context.Context, org orgs.ID, m MemberID, id AddressID) (Address, error)
	// OfMembers returns the addresses of one type, or of all types for "", of these members of the
	// organization, by id: at most limit.
	OfMembers(ctx context.Context, org orgs.ID, ms []MemberID, t AddressType, limit int) ([]Address, error)
	// Known returns those of these addresses of members of the organization that are recorded, by
	// id.
	Known(ctx context.Context, org orgs.ID, as []Address) ([]Address, error)
	// Remove deletes an address of the member with its assignments, their list entries and
	// subscriptions; ErrAddressNotFound.
	Remove(ctx context.Context, org orgs.ID, m MemberID, id AddressID) error
	// Assigned returns those of these addresses of the organization, by id, that are assigned to a
	// channel.
	Assigned(ctx context.Context, org orgs.ID, as []AddressID) ([]AddressID, error)
	// RemoveUnassigned deletes addresses of the organization; ErrAddressNotFound when one of them
	// is none, or is assigned to a channel.
	RemoveUnassigned(ctx context.Context, org orgs.ID, as []Address) error
	// Holders returns the e-mail addresses of the organization with one of these keys, by id: at
	// most limit.
	Holders(ctx context.Context, org orgs.ID, keys []string, limit int) ([]Address, error)
}
