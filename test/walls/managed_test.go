package walls_test

import (
	"math/rand/v2"
	"strings"

	"github.com/tocsin/tocsin/adapters/httpapi"
	"github.com/tocsin/tocsin/domain/access"
)

// managed reports whether a route of this path manages objects of an organization, so that its body
// has members of its own.
func managed(path string) bool {
	if strings.HasSuffix(path, "/d/{pk}/") || strings.HasSuffix(path, "/d/{pk}/remove/") {
		return true
	}
	for _, r := range httpapi.Routes() {
		if r.Path == path && r.Grant.Manages() && r.Grant != access.BlueprintApply {
			return true
		}
	}
	return false
}

// managedBody generates the body of a managing request: members that its route knows, and rarely
// one that it does not know.
func (c *client) managedBody(r *rand.Rand, path string) map[string]any {
	body := map[string]any{}
	may := func(name string, value any) {
		if r.IntN(3) > 0 {
			body[name] = value
		}
	}
	switch {
	case strings.HasSuffix(path, "/g/{group}/add/"), strings.HasSuffix(path, "/g/{group}/remove/"):
		body["users"] = []any{number(c.names.pick(r, "members")), number(c.names.pick(r, "members"))}
	case strings.HasSuffix(path, "/d/{pk}/remove/"):
		body["recipients"] = []any{number(c.names.pick(r, "assignments"))}
	case strings.HasSuffix(path, "/test/"):
		body["to"] = address(r)
	case strings.HasSuffix(path, "/t/{channel}/"):
		may("subject", sentence(r))
		may("text", sentence(r))
	case strings.HasSuffix(path, "/partials/{name}/"):
		may("text", sentence(r))
		may("html", oneOf(r, "<hr>", "{{> footer}}"))
	case strings.HasSuffix(path, "/d/{pk}/"):
		may("name", sentence(r))
		may("application", number(c.names.pick(r, "applications")))
	case strings.HasSuffix(path, "/k/{key}/rotate/"):
		may("overlap", 60)
	case strings.HasSuffix(path, "/k/"), strings.HasSuffix(path, "/k/{key}/"):
		may("name", sentence(r))
		may("grants", []any{oneOf(r, "user:read", "full_access", "key:write")})
		may("at_most_normal", r.IntN(2) == 0)
	case strings.HasSuffix(path, "/invite/"):
		may("reset_factors", r.IntN(2) == 0)
	case strings.HasSuffix(path, "/m/{username}/"):
		may("locked", r.IntN(2) == 0)
		if strings.Contains(path, "{app}") {
			may("enable_notifications", r.IntN(2) == 0)
		}
	case strings.HasSuffix(path, "/r/{username}/"):
		body["role"] = oneOf(r, "viewer", "operator", "administrator")
	case strings.HasSuffix(path, "/c/"):
		body["name"], body["protocol"], body["driver"] = sentence(r), oneOf(r, "EMAIL", "SMS"), "mailbox"
		may("preferred", r.IntN(2) == 0)
	case strings.HasSuffix(path, "/c/{channel}/"):
		may("active", r.IntN(4) > 0)
		may("settings", map[string]any{"concurrency": 1 + r.IntN(3)})
	case strings.Contains(path, "/e/{evt}/n/"):
		may("name", sentence(r))
		may("distribution_list", number(c.names.pick(r, "distribution_lists")))
	case strings.Contains(path, "/e/"):
		may("slug", oneOf(r, "tick", "more", "less"))
		may("name", sentence(r))
		may("channels", []any{oneOf(r, "mail", "text", "nothing")})
	default:
		may("slug", oneOf(r, "shop", "more", "web", "spare", "less"))
		may("name", sentence(r))
		may("active", r.IntN(4) > 0)
	}
	if r.IntN(20) == 0 {
		body["x"] = 1
	}
	return body
}
