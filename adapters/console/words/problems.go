package words

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// pattern is what a use case says with values in it.
type pattern struct {
	english *regexp.Regexp
	other   string
	plain   int // how many characters are no value
}

var verb = regexp.MustCompile(`%(?:\[(\d)\])?[a-z]|%%`)

// patternsOf returns the patterns of problems, the ones that say most first.
func patternsOf(problems map[string]string) (all []pattern) {
	for key, other := range problems {
		if !verb.MatchString(key) {
			continue
		}
		parts := verb.Split(key, -1)
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		all = append(all, pattern{regexp.MustCompile("(?s)^" + strings.Join(parts, "(.*?)") + "$"), other, len(strings.Join(parts, ""))})
	}
	slices.SortFunc(all, func(a, b pattern) int {
		return cmp.Or(b.plain-a.plain, strings.Compare(a.english.String(), b.english.String()))
	})
	return all
}

// Problem says what a use case said: it speaks English, and what it says is found by its words,
// with the values in it. What is not known, such as the answer of a provider, stays as it is.
func (l *Language) Problem(said string) string {
	if other, known := l.Problems[said]; known {
		return other
	}
	for _, p := range l.patterns {
		values := p.english.FindStringSubmatch(said)
		if values == nil {
			continue
		}
		next := 0
		return verb.ReplaceAllStringFunc(p.other, func(v string) string {
			at := next
			if i := strings.IndexByte(v, '['); i >= 0 {
				at = int(v[i+1] - '1')
			}
			next = at + 1
			if at+1 < len(values) {
				if strings.Contains(values[at+1], " ") {
					return l.Problem(values[at+1])
				}
				return values[at+1]
			}
			return v
		})
	}
	return said
}
