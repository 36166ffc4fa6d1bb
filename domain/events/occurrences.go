package events

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// MaxLimitTo is how many entries limit_to may have.
const MaxLimitTo = 10_000

// Errors of occurrences.
var (
	ErrOccurrenceNotFound  = fault.New(fault.NotFound, "the occurrence does not exist")
	ErrInactive            = fault.New(fault.Invalid, "the event is inactive")
	ErrCancelled           = fault.New(fault.Invalid, "the occurrence was cancelled")
	ErrExpired             = fault.New(fault.Invalid, "the occurrence has expired")
	ErrApplicationInactive = fault.New(fault.Invalid, "the application is inactive")
	ErrUnknownRecipient    = fault.New(fault.Invalid, "nobody in this organization has this username or address")
	ErrUnknownChannel      = fault.New(fault.Invalid, "the event has no channel of this name")
	ErrContext             = fault.New(fault.Invalid, "the context does not fit the schema of the event")
)

// OccurrenceID identifies an occurrence. It is positive; 0 means "not stored yet".
type OccurrenceID int64

// Context is the data of an occurrence: the text of one JSON object, as it was sent.
type Context = json.RawMessage

// Options narrow down an occurrence; nil, and the zero moment, mean no restriction.
type Options struct {
	LimitTo   []string  // addresses or usernames
	Channels  []string  // names, folded
	SendAt    time.Time // nothing is sent before
	ExpiresAt time.Time // nothing is sent from then on
}

// MaxAhead is how far ahead of its trigger an occurrence may be sent, and how long after that it
// may expire.
const MaxAhead = 366 * 24 * time.Hour

// NewOptions checks the options of a trigger; nil means that an option is not given. Duplicates
// count once. It refuses an empty list: a caller that computed one and meant "nobody" must not
// reach everybody.
func NewOptions(limitTo, channels []string) (Options, error) {
	var faults fault.Fields
	if len(limitTo) > MaxLimitTo {
		faults.Addf("options.limit_to", "has more than %d entries", MaxLimitTo)
	}
	distinct := func(field string, words []string, form func(string) string) (found []string) {
		if words != nil && len(words) == 0 {
			faults.Addf(field, "is empty; leave it out to restrict nothing")
		}
		seen := make(map[string]bool, len(words))
		for _, w := range words {
			if w = form(strings.TrimSpace(w)); !seen[w] {
				seen[w] = true
				found = append(found, w)
			}
		}
		if seen[""] {
			faults.Addf(field, "has an empty entry")
		}
		return found
	}
	o := Options{
		LimitTo:  distinct("options.limit_to", limitTo, func(w string) string { return w }),
		Channels: distinct("options.channels", channels, names.Fold),
	}
	return o, faults.Err()
}

// rfc3339 matches times in the syntax of RFC 3339. time.Parse also accepts an hour of one digit, a
// comma before a fraction, and offsets such as +24:00; so does time.Time.UnmarshalText.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

var errNotRFC3339 = errors.New("not a time of RFC 3339")

// ParseRFC3339 parses a time of RFC 3339 with a capital T and Z, and without a leap second.
func ParseRFC3339(text string) (time.Time, error) {
	if !rfc3339.MatchString(text) {
		return time.Time{}, errNotRFC3339
	}
	return time.Parse(time.RFC3339, text)
}

// ParseTime parses the time in a field of an input. Times before 1970 are refused.
func ParseTime(field, text string) (time.Time, error) {
	t, err := ParseRFC3339(text)
	switch {
	case err != nil:
		return time.Time{}, fault.Field(field, "must be a time with an offset, such as 2026-12-24T18:00:00+01:00")
	case t.Unix() <= 0:
		return time.Time{}, fault.Field(field, "is before 1970")
	}
	return t.UTC(), nil
}

// Resolve returns the options of an occurrence that is triggered now. A SendAt that has passed
// means at once: a call that arrives late is still meant, and ExpiresAt is for messages that must
// not be sent late. It refuses moments that are too far ahead and an ExpiresAt at which nothing
// could have been sent.
func (o Options) Resolve(now time.Time) (Options, error) {
	var faults fault.Fields
	if !o.SendAt.After(now) {
		o.SendAt = time.Time{}
	}
	begins := now
	if !o.SendAt.IsZero() {
		begins = o.SendAt
	}
	if o.SendAt.After(now.Add(MaxAhead)) {
		faults.Addf("options.send_at", "is more than a year ahead")
	}
	switch {
	case o.ExpiresAt.IsZero():
	case !o.ExpiresAt.After(now):
		faults.Addf("options.expires_at", "has passed")
	case !o.ExpiresAt.After(begins):
		faults.Addf("options.expires_at", "must be after send_at")
	case o.ExpiresAt.After(begins.Add(MaxAhead)):
		faults.Addf("options.expires_at", "is more than a year after the messages are to be sent")
	}
	return o, faults.Err()
}

// CheckAhead refuses a SendAt that has passed, for callers who can choose another.
func (o Options) CheckAhead(now time.Time) error {
	if o.SendAt.IsZero() || o.SendAt.After(now) {
		return nil
	}
	return fault.Field("options.send_at", "has passed")
}

// InRegion returns the options with some words of LimitTo as phone numbers of a region, if they are
// phone numbers without country code; without a region they stay.
func (o Options) InRegion(region string, words []string) Options {
	numbers := make(map[string]string, len(words))
	for _, w := range words {
		if !users.IsNational(w) {
			continue
		}
		if a, err := users.NewAddressIn(region, w, ""); err == nil {
			numbers[w] = a.Value
		}
	}
	o.LimitTo = slices.Clone(o.LimitTo)
	for i, w := range o.LimitTo {
		o.LimitTo[i] = cmp.Or(numbers[w], w)
	}
	return o
}

// Recipients returns what LimitTo means: usernames, folded, and the keys of addresses. Each word
// may be either.
func (o Options) Recipients() (usernames, addresses []string) {
	for _, w := range o.LimitTo {
		usernames = append(usernames, names.Fold(w))
		if a, err := users.NewAddress(w, ""); err == nil { // A word that cannot be an address is the address of no member.
			addresses = append(addresses, a.Key())
		}
	}
	return usernames, addresses
}

// Unknown are the names in the options of an occurrence that match nothing, in the order in which
// they were sent.
type Unknown struct {
	People   []string // neither usernames of members nor recorded addresses
	Channels []string // that the event cannot use
}

// Fault refuses what is unknown, naming all of it; nil when nothing is.
func (u Unknown) Fault() error {
	var faults fault.Fields
	switch len(u.People) {
	case 0:
	case 1:
		faults.AddAs(ErrUnknownRecipient, "options.limit_to", "%q is neither a member's username nor an address in this organization", u.People[0])
	default:
		quoted := make([]string, len(u.People))
		for i, p := range u.People {
			quoted[i] = strconv.Quote(p)
		}
		faults.AddAs(ErrUnknownRecipient, "options.limit_to", "%s: neither a member's username nor an address in this organization", strings.Join(quoted, ", "))
	}
	for _, c := range u.Channels {
		faults.AddAs(ErrUnknownChannel, "options.channels", "the event has no channel %q", c)
	}
	return faults.Err()
}

// Occurrence is one time that an event was triggered.
type Occurrence struct {
	ID            OccurrenceID
	Organization  orgs.ID
	Project       orgs.ProjectID
	Application   applications.ID
	Event         ID
	Context       Context
	Options       Options
	Priority      Priority
	CorrelationID string
	RequestID     string // of the request that triggered it; empty: none is known
	Traceparent   string // of the caller (W3C Trace Context); empty: none
	Created       time.Time
	Scheduled     bool      // it waits for Options.SendAt
	Expanded      time.Time // when the last delivery was written; zero: not yet
	Cancelled     time.Time // nothing is sent from then on; zero: it was not cancelled
	// Recipients is how many people would get at least one message, as things were when it was
	// triggered; nil: they were not counted, because that would have taken long.
	Recipients *int
}

// Begin returns when its first delivery could go out.
func (o Occurrence) Begin() time.Time {
	if o.Options.SendAt.After(o.Created) {
		return o.Options.SendAt
	}
	return o.Created
}

// Expired reports whether nothing is sent any more because it would be too late.
func (o Occurrence) Expired(now time.Time) bool {
	return !o.Options.ExpiresAt.IsZero() && !now.Before(o.Options.ExpiresAt)
}
