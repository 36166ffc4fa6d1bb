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

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
	"github.com/tocsin/tocsin/domain/users"
)

// maxFilter is the length of the longest filter value, in characters: that of the longest address.
const maxFilter = 2_048

// filters are the parameters of a list besides those of paging, each at most once. A list shows the
// entries that pass all of them.
type filters struct {
	query  url.Values
	names  []string
	faults fault.Fields
}

func (c call) filters() *filters { return &filters{query: c.QueryParams()} }

// text returns the value of a filter, empty if it was not sent.
func (f *filters) text(name string) string {
	f.names = append(f.names, name)
	values := f.query[name]
	switch {
	case len(values) == 0:
		return ""
	case len(values) > 1:
		f.faults.Addf(name, "is there %d times; which of them counts is not clear", len(values))
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

// search returns the text to search for, empty if none was sent. Results come in one piece, best
// first.
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

// like returns the condition that a text equals the value of a filter, ignoring case.
func (f *filters) like(name string) func(string) bool {
	fold := names.Fold(f.text(name))
	return func(s string) bool { return fold == "" || names.Fold(s) == fold }
}

// active returns the condition that something is active or inactive, as its filter requires.
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

// moment returns a point in time; the zero time if the filter was not sent.
func (f *filters) moment(name string) time.Time {
	text := f.text(name)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		f.faults.Addf(name, "must be a moment as in 2026-03-01T08:30:00Z; in a URL a + is written %%2B")
	}
	if at.IsZero() {
		at = at.Add(time.Nanosecond) // The zero time means no filter, but a client may send it.
	}
	return at
}

// number returns the condition that an id equals the value of a filter.
func (f *filters) number(name string) func(int64) bool {
	text := f.text(name)
	wanted, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || wanted < 1) {
		f.faults.Addf(name, "must be a whole number of 1 or more")
	}
	return func(id int64) bool { return text == "" || id == wanted }
}

// among returns the value of a filter, which must be one of values; empty if it was not sent.
func among[T ~string](f *filters, name string, values ...T) T {
	wanted := T(f.text(name))
	if wanted != "" && !slices.Contains(values, wanted) {
		f.faults.Addf(name, "must be one of %s", fault.List(values))
	}
	return wanted
}

// digest returns a short name for the filters that were sent; empty if none were.
func (f *filters) digest() string {
	asked := url.Values{}
	for _, name := range f.names {
		if f.query.Has(name) {
			asked[name] = f.query[name]
		}
	}
	if len(asked) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(asked.Encode()))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}
