package templates

import (
	"slices"
	"strings"
)

// Change says what became of a line.
type Change byte

// The changes.
const (
	Same    Change = ' '
	Removed Change = '-'
	Added   Change = '+'
)

// Line is a line of a difference.
type Line struct {
	Change Change
	Text   string
}

// maxDiff is how many pairs of lines are compared. Texts that differ in more show all of it
// removed, then added.
const maxDiff = 1 << 20

// Diff returns the lines of two texts, in order: those of a longest common sequence as the same,
// the rest of the first as removed, the rest of the second as added. No line is repeated in it
// needlessly.
func Diff(before, after string) []Line {
	a, b := lines(before), lines(after)
	var head, tail []Line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, Line{Same, a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, Line{Same, a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, middle(a, b), tail)
}

// middle compares what is left when beginning and end are the same.
func middle(a, b []string) []Line {
	if len(a)*len(b) > maxDiff {
		return append(all(Removed, a), all(Added, b)...)
	}
	// longest[i][j] is how many lines a[i:] and b[j:] have in common, in order.
	longest := make([][]int32, len(a)+1)
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var found []Line
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			found = append(found, Line{Same, a[i]})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			found = append(found, Line{Removed, a[i]})
			i++
		default:
			found = append(found, Line{Added, b[j]})
			j++
		}
	}
	return slices.Concat(found, all(Removed, a[i:]), all(Added, b[j:]))
}

func all(c Change, texts []string) []Line {
	found := make([]Line, len(texts))
	for i, t := range texts {
		found[i] = Line{c, t}
	}
	return found
}

// lines splits a text; an empty one has none, and the end of the last line begins no further one.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
