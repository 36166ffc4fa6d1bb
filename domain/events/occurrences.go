package events

import (
	"encoding/json"
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

// The faults of occurrences.
var (
	ErrOccurrenceNotFound  = fault.New(fault.NotFound, "the occurrence does not exist")
	ErrInactive            = fault.New(fault.Invalid, "the event is inactive")
	ErrApplicationInactive = fault.New(fault.Invalid, "the application is inactive")
	ErrKeyReused           = fault.New(fault.Mismatch, "this Idempotency-Key was used with another request")
)

// OccurrenceID identifies an occurrence. It is positive; 0 means "not stored yet".
type OccurrenceID int64

// Context is the data of an occurrence: the text of one JSON object, as it was sent.
type Context = json.RawMessage

// Options narrow down an occurrence; nil means no restriction.
type Options struct {
	LimitTo  []string // addresses or usernames
	Channels []string // names, folded
}

// NewOptions checks the options of a trigger; nil means that one is not given. What is repeated counts once. An empty list is refused:
// whoever computed one and meant "nobody" must not reach everybody.
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

// Recipients returns what LimitTo means: usernames, folded, and the keys of addresses. Each word may be either.
func (o Options) Recipients() (usernames, addresses []string) {
	for _, w := range o.LimitTo {
		usernames = append(usernames, names.Fold(w))
		if a, err := users.NewAddress(w, ""); err == nil { // What cannot be an address is nobody's.
			addresses = append(addresses, a.Key())
		}
	}
	return usernames, addresses
}

// Unknown is what the options of an occurrence name and nobody knows, in the order in which it was sent.
type Unknown struct {
	People   []string // neither usernames of members nor recorded addresses
	Channels []string // that the event cannot use
}

// Fault refuses what is unknown, naming all of it; nil when nothing is.
func (u Unknown) Fault() error {
	var faults fault.Fields
	for _, p := range u.People {
		faults.Addf("options.limit_to", "%q is neither a member's username nor an address in this organization", p)
	}
	for _, c := range u.Channels {
		faults.Addf("options.channels", "the event has no channel %q", c)
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
	CorrelationID string
	Created       time.Time
	Expanded      time.Time // when the last delivery was written; zero: not yet
}
