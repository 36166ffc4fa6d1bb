package blueprint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/domain/names"
)

// Mistake is one mistake in a file.
type Mistake struct {
	File    string
	Line    int    // 0: the file as a whole
	Path    string // organizations[0].projects[1].lists[0].name; empty when it has none
	Message string
}

func (m Mistake) String() string {
	var b strings.Builder
	b.WriteString(m.File)
	if m.Line > 0 {
		b.WriteString(":" + strconv.Itoa(m.Line))
	}
	b.WriteString(": ")
	if m.Path != "" {
		b.WriteString(m.Path + ": ")
	}
	b.WriteString(m.Message)
	return b.String()
}

// maxMistakes is how many mistakes of one file are reported.
const maxMistakes = 100

// Mistakes are all mistakes of a file, in the order of its lines.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	lines := make([]string, 0, len(m))
	for _, mistake := range m[:min(len(m), maxMistakes)] {
		lines = append(lines, mistake.String())
	}
	if more := len(m) - maxMistakes; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more mistakes", more))
	}
	return strings.Join(lines, "\n")
}

func (m Mistakes) sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int { return a.Line - b.Line })
	return m
}

// suggest returns the end of a sentence about an unknown name: the known name that is most similar.
func suggest(name string, known []string) string {
	if meant, ok := names.Nearest(name, known); ok {
		return fmt.Sprintf(" (did you mean %q?)", meant)
	}
	return ""
}
