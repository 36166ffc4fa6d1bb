package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/web"
)

// pathNotFound returns the fault of a path without a route. Below /api/ it names the first segment
// that matches no route, and what exists there. It uses only the route table, no stored data.
func pathNotFound(path string) error {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == web.InvalidPath:
		return web.ErrNoSuchPath.With("there is nothing at this path: a part of it is empty, or holds what no name can hold")
	case segments[0] != "api":
		return web.ErrNoSuchPath.With("there is nothing at this path; the API is below /api/, and %s describes it", docsPath)
	}
	depth, below, next := 0, "", map[string]bool{}
	for _, r := range append(routes(), documentation()...) {
		pattern := strings.Split(strings.Trim(r.Path, "/"), "/")
		fits := commonPrefix(segments, pattern)
		if fits > depth {
			depth, below, next = fits, "/"+strings.Join(pattern[:fits], "/")+"/", map[string]bool{}
		}
		if fits == depth && fits < len(pattern) {
			next[pattern[fits]] = true
		}
	}
	continuation := below + " ends there"
	if len(next) > 0 {
		continuation = below + " goes on with " + strings.Join(slices.Sorted(maps.Keys(next)), ", ")
	}
	if depth == len(segments) {
		return web.ErrNoSuchPath.With("there is nothing at this path itself: %s", continuation)
	}
	unknown, err := url.PathUnescape(segments[depth])
	if err != nil {
		return web.ErrNoSuchPath // Cannot happen: web.Canonical encoded it.
	}
	return web.ErrNoSuchPath.With("there is nothing at this path: %s, not with %q", continuation, truncate(unknown)).On(truncate(unknown))
}

// commonPrefix returns the number of leading segments that match a route's pattern.
func commonPrefix(segments, pattern []string) int {
	for i := range min(len(segments), len(pattern)) {
		if pattern[i] != segments[i] && !strings.HasPrefix(pattern[i], "{") {
			return i
		}
	}
	return min(len(segments), len(pattern))
}
