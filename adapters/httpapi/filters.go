package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// maxFilter is the length of the longest filter value, in characters: that of the longest address.
const maxFilter = 2_048

// filters are the parameters of a list besides those of paging. Each may occur once. Entries must
// match all of them.
type filters struct {
	query  url.Values
	names  []string
	faults fault.Fields
}

func (c call) filters() *filters { return &filters{query: c.QueryParams()} }

// text returns the value of a filter; empty if it was not sent.
func (f *filters) text(name string) string {
	f.names = append(f.names, name)
	values := f.query[name]
	switch {
	case len(values) == 0:
		return ""
	case strings.TrimSpace(values[0]) == "":
		f.faults.Addf(name, "is empty: leave it out to see everything")
	case !utf8.ValidString(values[0]) || strings.ContainsRune(values[0], 0):
		f.faults.Addf(name, "must be UTF-8, without any NUL character")
	case utf8.RuneCountInString(values[0]) > maxFilter:
		f.faults.Addf(name, "has more than %d characters", maxFilter)
	default:
		return strings.TrimSpace(values[0])
	}
	return ""
}

// search returns the search text; empty if none was sent. Search results have one page, the best
// matches first.
func (f *filters) search() string {
	text, err := users.ParseText("q", f.text("q"))
	if err != nil {
		f.faults.Add("", err)
	}
	if text != "" && f.query.Has("after") {
		f.faults.Addf("after", "does not go with q, which has one page: the best matches")
	}
	return text
}

// equalFold returns a predicate that matches texts equal to the filter, ignoring case.
func (f *filters) equalFold(name string) func(string) bool {
	fold := names.Fold(f.text(name))
	return func(s string) bool { return fold == "" || names.Fold(s) == fold }
}

// active returns a predicate for the filter `active`.
func (f *filters) active() func(bool) bool {
	wanted := f.boolean("active")
	return func(is bool) bool { return wanted == nil || is == *wanted }
}

// boolean returns true, false, or nil if the filter was not sent.
func (f *filters) boolean(name string) *bool {
	switch f.text(name) {
	case "true":
		return new(true)
	case "false":
		return new(false)
	case "":
	default:
		f.faults.Addf(name, "must be true or false")
	}
	return nil
}

// timestamp returns the time of a filter; the zero time if it was not sent.
func (f *filters) timestamp(name string) time.Time {
	text := f.text(name)
	if text == "" {
		return time.Time{}
	}
	at, err := events.ParseRFC3339(text)
	if err != nil {
		f.faults.Addf(name, "must be a moment as in 2026-03-01T08:30:00Z; in a URL a + is written %%2B")
	}
	if at.IsZero() {
		at = at.Add(time.Nanosecond) // The zero time means no filter, but a client may send it.
	}
	return at
}

// idEquals returns a predicate that matches ids equal to the filter.
func (f *filters) idEquals(name string) func(int64) bool {
	text := f.text(name)
	wanted, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || wanted < 1) {
		f.faults.Addf(name, "must be a whole number of 1 or more")
	}
	return func(id int64) bool { return text == "" || id == wanted }
}

// oneOf returns the value of a filter, which must be one of values; empty if it was not sent.
func oneOf[T ~string](f *filters, name string, values ...T) T {
	wanted := T(f.text(name))
	if wanted != "" && !slices.Contains(values, wanted) {
		f.faults.Addf(name, "must be one of %s", fault.List(values))
	}
	return wanted
}

// digest returns a short digest of the filters that were sent; empty if none were.
func (f *filters) digest() string {
	sent := url.Values{}
	for _, name := range f.names {
		if f.query.Has(name) {
			sent[name] = f.query[name]
		}
	}
	if len(sent) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(sent.Encode()))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}
