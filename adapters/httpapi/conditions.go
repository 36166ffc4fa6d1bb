package httpapi

import (
	"net/http"
	"slices"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/fault"
)

// The headers of RFC 9110, section 13.
const (
	headerETag        = web.HeaderETag
	headerIfMatch     = "If-Match"
	headerIfNoneMatch = web.HeaderIfNoneMatch
)

// errNoTag refuses a condition about what has no ETag: it would be ignored.
var errNoTag = fault.New(fault.Invalid, "cannot be met: GET of this path shows no single thing that has an ETag")

// condition is what a request that changes something demands of the present state.
type condition struct {
	match, noneMatch []string // ETags; `*` is any; nil: not asked
}

// conditionOf reads the condition of a request; nil when it has none.
func conditionOf(h http.Header) (*condition, error) {
	var faults fault.Fields
	var c condition
	for name, tags := range map[string]*[]string{headerIfMatch: &c.match, headerIfNoneMatch: &c.noneMatch} {
		if len(h.Values(name)) == 0 {
			continue
		}
		found, ok := web.ParseTags(h.Values(name))
		if !ok {
			faults.Addf(name, `must be * or ETags in double quotes, separated by commas`)
		}
		*tags = found
	}
	if c.match == nil && c.noneMatch == nil {
		return nil, faults.Err()
	}
	return &c, faults.Err()
}

// fails is the header whose demand is not met, empty when all are; no current ETag means that there
// is nothing.
func (c *condition) fails(current string) string {
	among := func(tags []string) bool { return current != "" && (tags[0] == "*" || slices.Contains(tags, current)) }
	switch {
	case c.match != nil && !among(c.match):
		return headerIfMatch
	case c.noneMatch != nil && among(c.noneMatch):
		return headerIfNoneMatch
	}
	return ""
}

// header is the header that the condition stands in; If-Match when both do.
func (c *condition) header() string {
	if c.match == nil {
		return headerIfNoneMatch
	}
	return headerIfMatch
}
