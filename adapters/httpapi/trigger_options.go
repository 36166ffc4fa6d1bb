package httpapi

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
)

// triggerOptions are the parsed options of a trigger.
type triggerOptions struct {
	limitTo, channels []string
	sendAt, expiresAt time.Time
	priority          *events.Priority
	dryRun            bool
	ignoreUnknown     bool
	usedFilter        bool // limitTo was sent as recipient_filter.usernames
}

// fieldLimitTo and fieldUsernames are alternative names of one option.
const (
	fieldLimitTo   = "options.limit_to"
	fieldFilter    = "options.recipient_filter"
	fieldUsernames = fieldFilter + ".usernames"
)

// optionNames are the names of the options, for the fault of an unknown one.
const optionNames = "limit_to, channels, send_at, expires_at, dry_run, ignore_unknown, priority"

// bindOptions reads the options of a trigger. It refuses unknown ones.
func bindOptions(sent map[string]any, faults *fault.Fields) (o triggerOptions) {
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		field, value := "options."+name, sent[name]
		switch name {
		case "limit_to":
			o.limitTo = bindStrings(field, value, faults)
		case "channels":
			o.channels = bindStrings(field, value, faults)
		case "send_at":
			o.sendAt = bindTime(field, value, faults)
		case "expires_at":
			o.expiresAt = bindTime(field, value, faults)
		case "dry_run":
			o.dryRun = bindBool(field, value, faults)
		case "ignore_unknown":
			o.ignoreUnknown = bindBool(field, value, faults)
		case "priority":
			o.priority = bindPriority(field, value, faults)
		case "recipient_filter": // It follows limit_to in alphabetical order.
			o.bindFilter(value, sent["limit_to"] != nil, faults)
		default:
			faults.AddAs(jsonbody.ErrUnknownMember, field, "is not an option; there are %s", optionNames)
		}
	}
	return o
}

// bindFilter reads recipient_filter, which clients of the contract's system send instead of
// limit_to.
func (o *triggerOptions) bindFilter(value any, hasLimitTo bool, faults *fault.Fields) {
	filter, isObject := value.(map[string]any)
	switch {
	case value == nil:
		return
	case !isObject:
		faults.Addf(fieldFilter, "must be an object")
		return
	case hasLimitTo:
		faults.Addf(fieldFilter, "says what limit_to says; send one of them")
		return
	case filter["usernames"] == nil:
		faults.Addf(fieldUsernames, "is required")
	}
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		if name != "usernames" {
			faults.AddAs(jsonbody.ErrUnknownMember, fieldFilter+"."+name, "there is no such filter")
		}
	}
	o.usedFilter = true
	o.limitTo = bindStrings(fieldUsernames, filter["usernames"], faults)
}

// renameField makes an error name the field that the client sent.
func (o triggerOptions) renameField(err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !o.usedFilter || !ok || len(known.Fields()) == 0 {
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

// bindPriority returns nil for null and the empty string.
func bindPriority(field string, value any, faults *fault.Fields) *events.Priority {
	name := textOf(value)
	if name == "" {
		return nil
	}
	p, err := events.ParsePriority(field, name)
	faults.Add("", err)
	return &p
}

// textOf returns a string without surrounding white space, "" for null, and for any other value a
// text that is neither a priority nor a time.
func textOf(value any) string {
	text, isString := value.(string)
	if !isString && value != nil {
		return "?"
	}
	return strings.TrimSpace(text)
}

func bindBool(field string, value any, faults *fault.Fields) bool {
	on, isBool := value.(bool)
	if !isBool && value != nil {
		faults.Addf(field, "must be true or false")
	}
	return on
}

// bindTime returns the zero time for null, the empty string, and anything that is not a time.
func bindTime(field string, value any, faults *fault.Fields) time.Time {
	text := textOf(value)
	if text == "" {
		return time.Time{}
	}
	t, err := events.ParseTime(field, text)
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
	strings := make([]string, 0, len(entries))
	for _, e := range entries {
		s, isString := e.(string)
		if !isString {
			faults.Addf(field, "must be an array of strings")
			return nil
		}
		strings = append(strings, s)
	}
	return strings
}
