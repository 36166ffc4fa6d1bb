package configs

import (
	"maps"
	"slices"
	"strings"
)

// suggest is the end of a sentence about an unknown name: the known one that was probably meant, or
// nothing.
func suggest(name string, known []string) string {
	meant, least, plainName := "", max(2, len(name)/4)+1, plain(name)
	for _, k := range known {
		if d := distance(plainName, plain(k)); d < least {
			meant, least = k, d
		}
	}
	if meant == "" {
		return ""
	}
	return ", did you mean " + meant + "?"
}

func plain(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}

// distance is how many letters must be added, removed or replaced to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// keys are the sorted keys, so that of two names equally near the same one is suggested each time.
func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
