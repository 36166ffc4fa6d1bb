package names

import "strings"

// maxNearest is the longest word, in bytes, for which a similar one is looked for.
const maxNearest = 64

// Nearest returns the known name that was probably meant by an unknown one; ok is false when none
// is similar. Case does not count, and `-` is as good as `_`. Of names equally near, the first one
// is returned.
func Nearest(name string, known []string) (meant string, ok bool) {
	if len(name) > maxNearest {
		return "", false
	}
	plain := strings.NewReplacer("-", "_").Replace
	name = plain(strings.ToLower(name))
	least := max(2, len(name)/4) + 1
	for _, k := range known {
		if len(k) > maxNearest {
			continue
		}
		if d := distance(name, plain(strings.ToLower(k))); d < least {
			meant, least = k, d
		}
	}
	return meant, meant != ""
}

// distance is how many bytes must be added, removed or replaced to make b of a (Levenshtein).
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
