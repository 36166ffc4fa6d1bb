package events

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/domain/applications"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Limits of a trigger.
const (
	MaxLimitTo       = 10_000 // entries of limit_to
	MaxCorrelationID = 200    // characters
)

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

// Options narrow down an occurrence. Empty means no restriction.
type Options struct {
	LimitTo  []string // addresses or usernames, folded
	Channels []string // names, folded
}

// NewOptions checks and folds the options of a trigger.
func NewOptions(limitTo, channels []string) (Options, error) {
	var faults fault.Fields
	var o Options
	if len(limitTo) > MaxLimitTo {
		faults.Addf("options.limit_to", "has more than %d entries", MaxLimitTo)
	}
	fold := func(field string, words []string) (folded []string) {
		for _, w := range words {
			if w = names.Fold(strings.TrimSpace(w)); w == "" {
				faults.Addf(field, "has an empty entry")
			} else if !slices.Contains(folded, w) || len(words) > 100 {
				folded = append(folded, w)
			}
		}
		return folded
	}
	o.LimitTo = fold("options.limit_to", limitTo)
	o.Channels = fold("options.channels", channels)
	return o, faults.Err()
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
