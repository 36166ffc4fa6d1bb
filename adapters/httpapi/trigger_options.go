package httpapi

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
)

// triggerOptions are the options of a trigger as they were sent.
type triggerOptions struct {
	limitTo, channels []string
	sendAt, expiresAt time.Time
	priority          *events.Priority
	dryRun            bool
	ignoreUnknown     bool
	filtered          bool // limitTo was sent as recipient_filter.usernames
}

// fieldLimitTo and fieldUsernames are two names for one option.
const (
	fieldLimitTo   = "options.limit_to"
	fieldFilter    = "options.recipient_filter"
	fieldUsernames = fieldFilter + ".usernames"
)

// bindOptions reads the options of a trigger. Unknown ones are mistakes.
func bindOptions(sent map[string]any, faults *fault.Fields) (o triggerOptions) {
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		field, value := "options."+name, sent[name]
		switch name {
		case "limit_to":
			o.limitTo = bindStrings(field, value, faults)
		case "channels":
			o.channels = bindStrings(field, value, faults)
		case "send_at":
			o.sendAt = bindMoment(field, value, faults)
		case "expires_at":
			o.expiresAt = bindMoment(field, value, faults)
		case "dry_run":
			o.dryRun = bindBool(field, value, faults)
		case "ignore_unknown":
			o.ignoreUnknown = bindBool(field, value, faults)
		case "priority":
			o.priority = bindPriority(field, value, faults)
		case "recipient_filter": // It follows limit_to in alphabetical order.
			o.bindFilter(value, sent["limit_to"] != nil, faults)
		default:
			faults.Addf(field, "there is no such option")
		}
	}
	return o
}

// bindFilter reads another form of limit_to, sent by clients of the contract's system.
func (o *triggerOptions) bindFilter(value any, beside bool, faults *fault.Fields) {
	filter, isObject := value.(map[string]any)
	switch {
	case value == nil:
		return
	case !isObject:
		faults.Addf(fieldFilter, "must be an object")
		return
	case beside:
		faults.Addf(fieldFilter, "says what limit_to says; send one of them")
		return
	case filter["usernames"] == nil:
		faults.Addf(fieldUsernames, "is required")
	}
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		if name != "usernames" {
			faults.Addf(fieldFilter+"."+name, "there is no such filter")
		}
	}
	o.filtered = true
	o.limitTo = bindStrings(fieldUsernames, filter["usernames"], faults)
}

// renamed makes an error name limit_to as the caller did.
func (o triggerOptions) renamed(err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !o.filtered || !ok || len(known.Fields()) == 0 {
		return err
	}
	var faults fault.Fields
	for _, f := range known.Fields() {
		if f.Name == fieldLimitTo {
			f.Name = fieldUsernames
		}
		faults = append(faults, f)
	}
	return faults.Err()
}

// bindPriority returns nil for null.
func bindPriority(field string, value any, faults *fault.Fields) *events.Priority {
	if value == nil {
		return nil
	}
	name, _ := value.(string)
	if name == "" {
		name = "?" // An empty name is not the same as none.
	}
	p, err := events.ParsePriority(field, name)
	faults.Add("", err)
	return &p
}

func bindBool(field string, value any, faults *fault.Fields) bool {
	on, isBool := value.(bool)
	if !isBool && value != nil {
		faults.Addf(field, "must be true or false")
	}
	return on
}

// bindMoment returns the zero time for null, the empty string, and anything that is not a time.
func bindMoment(field string, value any, faults *fault.Fields) time.Time {
	word, isString := value.(string)
	if value == nil || isString && word == "" {
		return time.Time{}
	}
	t, err := events.ParseTime(field, word) // A value that is not a string is read as the empty one, which is not a time.
	faults.Add(field, err)
	return t
}

// bindStrings returns nil for null and for anything that is not an array of strings.
func bindStrings(field string, value any, faults *fault.Fields) []string {
	entries, isArray := value.([]any)
	if !isArray {
		if value != nil {
			faults.Addf(field, "must be an array of strings")
		}
		return nil
	}
	words := make([]string, 0, len(entries))
	for _, e := range entries {
		word, isString := e.(string)
		if !isString {
			faults.Addf(field, "must be an array of strings")
			return nil
		}
		words = append(words, word)
	}
	return words
}
