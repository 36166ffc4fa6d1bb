package schemas

import (
	"errors"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of patterns, which are regular expressions. A match costs its instructions times the bytes
// of its text.
const (
	MaxPatternBytes = 4 << 10 // of a pattern
	MaxInstructions = 3_000   // of a pattern
	// MaxSteps bounds the work of reading all patterns of a schema, and MaxMatchSteps that of all
	// matches of one check. A step takes at most about 15 nanoseconds.
	MaxSteps      = 4_000_000
	MaxMatchSteps = 16_000_000

	stepsPerByte  = 100     // to read a byte of a pattern, or to compile an instruction
	stepsPerClass = 8_000   // to read a class such as \pL, which has hundreds of ranges
	stepsPerFold  = 4       // for each character of a range, if case does not matter
	lastFold      = 0x1e943 // the last character that exists in two cases

	instructionBytes = 256     // of memory
	classBytes       = 8 << 10 // of memory
)

// patterns compiles the patterns of one schema and counts the work with them. A schema that has
// some is used by one check at a time.
type patterns struct {
	known    map[string]*pattern // by their text
	left     int                 // steps that may still be spent
	checking bool                // data, no longer the schema
	memory   int                 // in bytes

	refused string // the first pattern that is refused
	reason  string // a format, for the limit and the place
	limit   int
}

var errPattern = errors.New("it is too long or repeats too much")

// compile is the regexp engine of the compiler. During a check, it is called for texts of the
// format `regex`, which are only read.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if known := p.known[text]; known != nil && !p.checking {
		return known, nil
	}
	size, err := p.measure(text)
	if err != nil || p.checking {
		return nil, err
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	made := &pattern{Regexp: compiled, size: size, of: p}
	p.known[text] = made
	p.memory += instructionBytes*size + classBytes*classes(text)
	return made, nil
}

// measure returns the number of instructions of a pattern, or refuses it. It compiles nothing.
func (p *patterns) measure(text string) (int, error) {
	if len(text) > MaxPatternBytes {
		return 0, p.refuse(text, "has a pattern of more than %d bytes at %s; shorten it", MaxPatternBytes)
	}
	const total = "has patterns that need more than %d steps together, which the one at %s exceeds; use fewer or simpler patterns"
	if !p.spend(stepsPerByte*len(text) + stepsPerClass*classes(text) + stepsPerFold*folded(text)) {
		return 0, p.refuse(text, total, MaxSteps)
	}
	read, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	size := instructions(read)
	if size > MaxInstructions {
		return 0, p.refuse(text, "has a pattern of more than %d instructions at %s; repeat less, and limit the length of a text with maxLength", MaxInstructions)
	}
	if !p.spend(stepsPerByte * size) {
		return 0, p.refuse(text, total, MaxSteps)
	}
	return size, nil
}

func (p *patterns) spend(steps int) bool {
	p.left -= steps
	return p.left >= 0
}

func (p *patterns) refuse(text, reason string, limit int) error {
	if p.reason == "" && !p.checking {
		p.refused, p.reason, p.limit = text, reason, limit
	}
	return errPattern
}

// refusal is why a schema is refused for its patterns; nil if it is not.
func (p *patterns) refusal(root any) error {
	if p.reason == "" {
		return nil
	}
	at, _ := placeOf(nil, root, p.refused)
	return refused(p.reason, p.limit, strconv.Quote(shortened("#"+pointer(at))))
}

// check prepares the patterns for the check of a text.
func (p *patterns) check() { p.known, p.checking, p.left = nil, true, MaxMatchSteps }

// pattern is a compiled pattern that counts the work of its matches.
type pattern struct {
	*regexp.Regexp

	size int // in instructions
	of   *patterns
}

// MatchString matches nothing when the check has taken too many steps.
func (p *pattern) MatchString(s string) bool {
	return p.of.spend(p.size*(len(s)+1)) && p.Regexp.MatchString(s)
}

// instructions returns about how many instructions a pattern compiles to, like the parser of the
// package syntax, which allows far more.
func instructions(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCapture, syntax.OpStar:
		size += 2
	case syntax.OpPlus, syntax.OpQuest:
		size++
	case syntax.OpAlternate:
		size += len(re.Sub) - 1
	case syntax.OpRepeat:
		switch {
		case re.Max >= 0:
			size = re.Max*size + re.Max - re.Min
		case re.Min == 0:
			size += 2
		default:
			size = re.Min*size + 1
		}
	default:
	}
	return max(1, size)
}

// classes counts the classes of Unicode in a pattern, or what could be one.
func classes(text string) int { return strings.Count(text, `\p`) + strings.Count(text, `\P`) }

// caseless matches a flag that makes a pattern case-insensitive.
var caseless = regexp.MustCompile(`\(\?[a-zA-Z]*i`)

// folded returns how many characters of ranges the parser looks at one by one, at most, because
// case does not matter. A large range ends with a character beyond ASCII.
func folded(text string) (runes int) {
	if !caseless.MatchString(text) {
		return 0
	}
	for i := range len(text) {
		if text[i] != '-' {
			continue
		}
		end, size := utf8.DecodeRuneInString(text[i+1:])
		if size == 0 {
			continue
		}
		if hex, is := strings.CutPrefix(text[i+1:], `\x{`); is {
			digits, _, _ := strings.Cut(hex, "}")
			n, err := strconv.ParseUint(digits, 16, 32)
			if end = rune(min(n, lastFold)); err != nil {
				end = lastFold
			}
		}
		runes += min(max(int(end), utf8.RuneSelf), lastFold)
	}
	return runes
}

// placeOf finds a pattern in a schema.
func placeOf(at []string, v any, text string) (place []string, found bool) {
	switch v := v.(type) {
	case map[string]any:
		if v["pattern"] == text {
			return append(at, "pattern"), true
		}
		named, _ := v["patternProperties"].(map[string]any)
		if _, is := named[text]; is {
			return append(at, "patternProperties", text), true
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if place, found = placeOf(append(slices.Clone(at), name), v[name], text); found {
				return place, true
			}
		}
	case []any:
		for i, inner := range v {
			if place, found = placeOf(append(slices.Clone(at), strconv.Itoa(i)), inner, text); found {
				return place, true
			}
		}
	}
	return nil, false
}
