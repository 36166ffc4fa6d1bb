package console

import (
	"net/url"
	"strings"

	"github.com/tocsin/tocsin/domain/audit"
)

// objectPath returns the path of the page about an entry's object; empty if there is none. Objects
// that entries identify by name are found on the page that lists them. A deleted object has no
// page, not even in the entry about its deletion.
func (c call) objectPath(e audit.Entry) string {
	if strings.HasSuffix(string(e.Action), ".delete") || strings.HasSuffix(string(e.Action), ".remove") && !strings.HasPrefix(string(e.Action), "recipients.") {
		return ""
	}
	parts := strings.Split(e.Object, "/")
	if c.at().Organization == "" || parts[0] != c.at().Organization {
		return ""
	}
	place := []any{"o", parts[0]}
	rest := parts[1:]
	people := "u"
	for _, level := range []string{"p", "a"} {
		if len(rest) >= 2 && rest[0] == level {
			place, rest = append(place, level, rest[1]), rest[2:]
		}
		if level == "a" && len(place) == 6 {
			people = "m"
		}
	}
	if len(rest) == 0 {
		return c.link(place...)
	}
	name := strings.Join(rest[1:], "/")
	switch kind := rest[0]; {
	case kind == "u" && name != "":
		return c.link(append(place, people)...) + "?" + url.Values{"q": {name}}.Encode()
	case kind == "c":
		return c.link(append(place, "channels")...)
	case (kind == "occurrences" || kind == "imports") && len(rest) > 1:
		return c.link(append(place, kind, rest[1])...)
	case kind == "partials" && len(rest) > 1:
		return c.link(append(place, "partials", rest[1])...)
	case kind == "e" && len(rest) > 1:
		return c.link(append(place, "e", rest[1])...)
	case kind == "d", kind == "keys" && len(place) == 2, kind == "groups", kind == "mailbox", kind == "imports":
		return c.link(append(place, kind)...)
	}
	return ""
}
