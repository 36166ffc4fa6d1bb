package configs

import (
	"fmt"
	"slices"
	"strings"
)

// Error holds every mistake of a configuration.
type Error struct {
	Mistakes []Mistake
}

// Mistake is a mistake in one setting, and where it was given.
type Mistake struct {
	Setting string // as spelled there
	Origin  string // as in [Value]
	Message string
}

func (m Mistake) String() string { return fmt.Sprintf("%s (%s): %s", m.Setting, m.Origin, m.Message) }

func (e *Error) Error() string {
	if len(e.Mistakes) == 1 {
		return "configuration: " + e.Mistakes[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d mistakes", len(e.Mistakes))
	for _, m := range e.Mistakes {
		b.WriteString("\n  " + m.String())
	}
	return b.String()
}

func (e *Error) add(setting, origin, message string) {
	e.Mistakes = append(e.Mistakes, Mistake{Setting: setting, Origin: origin, Message: message})
}

// about reports whether a setting already has a mistake.
func (e *Error) about(setting string) bool {
	return slices.ContainsFunc(e.Mistakes, func(m Mistake) bool { return m.Setting == setting })
}
