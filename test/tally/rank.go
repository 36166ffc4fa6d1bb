package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ranked is a package or a test and how long it took. Tests run side by side, so their times
// overlap.
type ranked struct {
	name string
	took float64 // in seconds
}

// rank prints the n packages and the n tests that took longest, tests without subtests only.
func (t *tally) rank(n int) {
	var packages, tests []ranked
	for name, s := range t.suites {
		packages = append(packages, ranked{name, s.took})
		for _, c := range s.order {
			if !c.parent {
				tests = append(tests, ranked{name[strings.LastIndexByte(name, '/')+1:] + " " + c.name, c.took})
			}
		}
	}
	t.print(list("packages", packages, n) + list("tests", tests, n))
}

// list returns the first n of all, the slowest first, under a heading. What took no time is left
// out.
func list(what string, all []ranked, n int) string {
	all = slices.DeleteFunc(all, func(r ranked) bool { return r.took == 0 })
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.took, a.took), strings.Compare(a.name, b.name))
	})
	var text strings.Builder
	fmt.Fprintf(&text, "\nThe slowest %s, in seconds:\n", what)
	for _, r := range all[:min(n, len(all))] {
		fmt.Fprintf(&text, "%8.1f  %s\n", r.took, r.name)
	}
	return text.String()
}
