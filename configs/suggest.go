package configs

import (
	"maps"
	"slices"

	"github.com/tocsin/tocsin/domain/names"
)

// suggest returns the end of a sentence about an unknown name: the known name that was probably
// meant, or nothing.
func suggest(name string, known []string) string {
	if meant, ok := names.Nearest(name, known); ok {
		return ", did you mean " + meant + "?"
	}
	return ""
}

// keys returns the sorted keys, so that of two equally similar names the same one is suggested each
// time.
func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
