package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
)

// The headers of RFC 9110, section 13.
const (
	headerETag        = "ETag"
	headerIfMatch     = "If-Match"
	headerIfNoneMatch = "If-None-Match"
)

// errNoTag refuses a condition about what has no ETag: it would be ignored.
var errNoTag = fault.New(fault.Invalid, "cannot be met: GET of this path shows no single thing that has an ETag")

// tagOf is the strong ETag of what is shown.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

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
		found, ok := parseTags(h.Values(name))
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

// fails is the header whose demand is not met, empty when all are; no current ETag means that there is nothing.
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

// unchanged tells whether a reader has what would be answered. Weak tags will do for that.
func unchanged(h http.Header, tag string) bool {
	tags, ok := parseTags(h.Values(headerIfNoneMatch))
	return ok && slices.ContainsFunc(tags, func(t string) bool { return t == "*" || strings.TrimPrefix(t, "W/") == tag })
}

// parseTags reads the values of a header that is `*` or a list of ETags.
func parseTags(values []string) (tags []string, ok bool) {
	rest := strings.TrimSpace(strings.Join(values, ","))
	if rest == "*" {
		return []string{"*"}, true
	}
	for rest != "" {
		weak := strings.HasPrefix(rest, `W/"`)
		opaque, quoted := strings.CutPrefix(strings.TrimPrefix(rest, "W/"), `"`)
		end := strings.IndexByte(opaque, '"')
		if !quoted || end < 0 {
			return nil, false
		}
		tag := `"` + opaque[:end] + `"`
		if weak {
			tag = "W/" + tag
		}
		tags = append(tags, tag)
		rest = strings.TrimSpace(opaque[end+1:])
		if rest != "" && rest[0] != ',' {
			return nil, false
		}
		rest = strings.Trim(rest, ", \t")
	}
	return tags, len(tags) > 0
}
