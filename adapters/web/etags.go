package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// The headers with the ETags that a client has.
const (
	HeaderETag        = "ETag"
	HeaderIfNoneMatch = "If-None-Match"
)

// ETag returns the strong ETag of a body.
func ETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// NotModified reports whether the client has the current version. Weak tags suffice for that.
func NotModified(h http.Header, tag string) bool {
	tags, ok := ParseTags(h.Values(HeaderIfNoneMatch))
	return ok && Matches(tags, tag)
}

// Matches reports whether a version is among these tags, or these are `*`. Weak tags match, too.
func Matches(tags []string, tag string) bool {
	return slices.ContainsFunc(tags, func(t string) bool { return t == "*" || strings.TrimPrefix(t, "W/") == tag })
}

// ParseTags parses the values of a header that is `*` or a list of ETags.
func ParseTags(values []string) (tags []string, ok bool) {
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
