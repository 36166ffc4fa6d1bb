package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/web"
	"github.com/tocsin/tocsin/domain/fault"
)

// The headers of RFC 9110, section 13.
const (
	headerETag        = web.HeaderETag
	headerIfMatch     = "If-Match"
	headerIfNoneMatch = web.HeaderIfNoneMatch
)

// errNoTag refuses a condition on a path without an ETag.
var errNoTag = fault.New(fault.Invalid, "cannot be met: GET of this path shows no single thing that has an ETag")

// condition is the precondition of a request that changes something.
type condition struct {
	match, noneMatch []string // ETags; `*` is any; nil: not sent
}

// conditionOf reads the condition of a request; nil when it has none.
func conditionOf(h http.Header) (*condition, error) {
	var faults fault.Fields
	var c condition
	for name, tags := range map[string]*[]string{headerIfMatch: &c.match, headerIfNoneMatch: &c.noneMatch} {
		if len(h.Values(name)) == 0 {
			continue
		}
		sent := h.Values(name)
		found, ok := web.ParseTags(sent)
		switch {
		case strings.TrimSpace(strings.Join(sent, "")) == "":
			faults.Addf(name, "is empty")
		case !ok:
			faults.Addf(name, `must be * or ETags in double quotes, separated by commas`)
		case name == headerIfMatch && slices.ContainsFunc(found, isWeak): // It would never match (RFC 9110).
			faults.Addf(name, "a weak ETag cannot be used in If-Match")
		}
		*tags = found
	}
	if c.match == nil && c.noneMatch == nil {
		return nil, faults.Err()
	}
	return &c, faults.Err()
}

func isWeak(tag string) bool { return strings.HasPrefix(tag, "W/") }

// failedHeader returns the header whose condition fails; empty if all hold. An empty current ETag
// means that the object does not exist.
func (c *condition) failedHeader(current string) string {
	// If-None-Match compares weakly (RFC 9110, section 13.1.2). If-Match has no weak tags.
	among := func(tags []string) bool { return current != "" && web.Matches(tags, current) }
	switch {
	case c.match != nil && !among(c.match):
		return headerIfMatch
	case c.noneMatch != nil && among(c.noneMatch):
		return headerIfNoneMatch
	}
	return ""
}

// header returns the header that holds the condition; If-Match when both do.
func (c *condition) header() string {
	if c.match == nil {
		return headerIfNoneMatch
	}
	return headerIfMatch
}
