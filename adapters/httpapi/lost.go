package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/adapters/web"
)

// lost is the fault of a path without a route. Below /api/ it says where the path leaves the route
// table, and what exists there. It uses the table only, nothing that is stored.
func lost(path string) error {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == web.Nowhere:
		return web.ErrNoSuchPath.With("there is nothing at this path: a part of it is empty, or holds what no name can hold")
	case segments[0] != "api":
		return web.ErrNoSuchPath.With("there is nothing at this path; the API is below /api/, and %s describes it", docsPath)
	}
	depth, below, next := 0, "", map[string]bool{}
	for _, r := range append(routes(), documentation()...) {
		pattern := strings.Split(strings.Trim(r.Path, "/"), "/")
		fits := common(segments, pattern)
		if fits > depth {
			depth, below, next = fits, "/"+strings.Join(pattern[:fits], "/")+"/", map[string]bool{}
		}
		if fits == depth && fits < len(pattern) {
			next[pattern[fits]] = true
		}
	}
	goesOn := below + " ends there"
	if len(next) > 0 {
		goesOn = below + " goes on with " + strings.Join(slices.Sorted(maps.Keys(next)), ", ")
	}
	if depth == len(segments) {
		return web.ErrNoSuchPath.With("there is nothing at this path itself: %s", goesOn)
	}
	stray, err := url.PathUnescape(segments[depth])
	if err != nil {
		return web.ErrNoSuchPath // Cannot happen: web.Canonical encoded it.
	}
	return web.ErrNoSuchPath.With("there is nothing at this path: %s, not with %q", goesOn, shortened(stray)).On(shortened(stray))
}

// common counts the segments from the beginning that match a route's pattern.
func common(segments, pattern []string) int {
	for i := range min(len(segments), len(pattern)) {
		if pattern[i] != segments[i] && !strings.HasPrefix(pattern[i], "{") {
			return i
		}
	}
	return min(len(segments), len(pattern))
}
