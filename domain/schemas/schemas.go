// Package schemas is about JSON Schemas that organizations write for the data of their events:
// which of them are accepted, and what is wrong with data. It never loads other documents. The
// authors of schemas and data are not trusted, so neither may cost much.
package schemas

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tocsin/tocsin/domain/fault"
)

// Limits.
const (
	MaxBytes  = 64 << 10 // of a schema
	MaxDepth  = 64       // levels of a schema
	MaxWeight = 5_000    // objects and arrays of a schema, each as often as $ref leads to it
	// MaxWork bounds the weight of a schema times the values of the data that are held against it,
	// each of which takes about a microsecond. It does not include patterns: see MaxMatchSteps.
	MaxWork = 200_000
	// maxDigits and maxExponent bound numbers, which are compared exactly.
	maxDigits   = 1_000
	maxExponent = 400
	// maxMistakes is how many mistakes in data are reported, and maxMistake how long each may be,
	// in characters.
	maxMistakes = 50
	maxMistake  = 300
	// What a schema takes in memory for each byte of its text, and for each object or truth value.
	bytesPerText = 16
	bytesPerPart = 1 << 10
)

// location is where the compiler believes a schema to be.
const location = "schema:///schema.json"

// Schema is a JSON Schema that is ready for use. It may be used concurrently.
type Schema struct {
	compiled *jsonschema.Schema
	weight   int
	size     int

	mu       sync.Mutex // held while patterns are used
	patterns *patterns  // nil: none
}

// Parse reads the JSON Schema of an object. The error says what is wrong with it.
func Parse(text string) (*Schema, error) {
	if len(text) > MaxBytes {
		return nil, refused("is longer than %d KiB", MaxBytes>>10)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, refused("must be a JSON Schema such as {\"properties\": {\"name\": {\"type\": \"string\"}}}")
	}
	root, isObject := doc.(map[string]any)
	if !isObject {
		return nil, refused("must be a JSON Schema, which is an object")
	}
	w := &weigher{root: root, known: map[string]int{}}
	weight, err := w.weigh(nil, root)
	if err != nil {
		return nil, err
	}
	if weight > MaxWeight {
		return nil, refused("has more than %d parts, each counted as often as a $ref leads to it", MaxWeight)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	all := &patterns{known: map[string]*pattern{}, left: MaxSteps}
	c.UseRegexpEngine(all.compile)
	if err := c.AddResource(location, root); err != nil {
		return nil, refused("%s", shortened(err.Error()))
	}
	compiled, err := c.Compile(location)
	if err := all.refusal(root); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, refused("is not a JSON Schema: %s", reason(err))
	}
	s := &Schema{compiled: compiled, weight: weight, size: bytesPerText*len(text) + bytesPerPart*w.parts + all.memory}
	if w.patterns {
		s.patterns = all
	}
	return s, nil
}

// Size is about how much memory the schema takes, in bytes.
func (s *Schema) Size() int { return s.size }

// Check returns what is wrong with a JSON text, each with the JSON Pointer of the value:
// `/lines/0/price: got string, want number`.
func (s *Schema) Check(text []byte) (mistakes []string) {
	data, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return []string{"is not JSON"}
	}
	values, number := size(data)
	switch {
	case number != "":
		return []string{"holds a number that cannot be checked: " + shortened(number)}
	case values*s.weight > MaxWork:
		return []string{"is too large to be checked against the schema of its event"}
	}
	if s.patterns != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.patterns.check()
	}
	err = s.compiled.Validate(data)
	if s.patterns != nil && s.patterns.left < 0 {
		return []string{"is too large to be checked against the patterns in the schema of its event"}
	}
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return nil
	}
	for _, m := range leaves(wrong, nil) {
		if !slices.Contains(mistakes, m) && len(mistakes) < maxMistakes {
			mistakes = append(mistakes, m)
		}
	}
	slices.Sort(mistakes)
	return mistakes
}

// leaves returns the mistakes that have no further causes.
func leaves(e *jsonschema.ValidationError, found []string) []string {
	if len(e.Causes) == 0 {
		at := pointer(e.InstanceLocation)
		said := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		if at != "" {
			said = at + ": " + said
		}
		return append(found, shortened(said))
	}
	for _, cause := range e.Causes {
		if found = leaves(cause, found); len(found) > 4*maxMistakes {
			break
		}
	}
	return found
}

// size counts the values of data, long texts as several, and returns the first number that cannot
// be checked.
func size(v any) (values int, number string) {
	values = 1
	add := func(inner any) {
		n, bad := size(inner)
		if values += n; number == "" {
			number = bad
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			values += len(name) / 16
			add(inner)
		}
	case []any:
		for _, inner := range v {
			add(inner)
		}
	case string:
		values += len(v) / 16
	case json.Number:
		if !checkable(v) {
			number = string(v)
		}
		values += effort(v)
	}
	return values, number
}

// checkable reports whether a number can be compared exactly at no great cost.
func checkable(n json.Number) bool {
	exponent, err := exponentOf(n)
	return len(n) <= maxDigits && err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// effort is how many further values a checkable number counts for: one with many digits or a large
// exponent takes longer to compare.
func effort(n json.Number) int {
	exponent, _ := exponentOf(n)
	return (len(n) + max(exponent, -exponent)) / 16
}

func exponentOf(n json.Number) (int, error) {
	i := strings.IndexAny(string(n), "eE")
	if i < 0 {
		return 0, nil
	}
	return strconv.Atoi(string(n[i+1:]))
}

// weigher counts the parts of a schema. Everything that could be a part counts as one.
type weigher struct {
	root  map[string]any
	known map[string]int // by JSON Pointer; 0: at work
	parts int            // that may be a schema
	// patterns is whether there may be patterns: regular expressions of the schema or of its data.
	patterns bool
}

// unsupported are keywords that lead out of a schema, or in circles, in ways that are not counted
// here.
var unsupported = []string{"$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"}

func (w *weigher) weigh(at []string, v any) (weight int, err error) {
	if len(at) > MaxDepth {
		return 0, refused("is nested deeper than %d levels", MaxDepth)
	}
	place := pointer(at)
	switch known, seen := w.known[place]; {
	case seen && known == 0:
		return 0, refused("refers to itself at %s, which is not allowed", strconv.Quote("#"+place))
	case seen:
		return known, nil
	}
	weight = 1
	w.known[place] = 0
	add := func(step string, inner any) error {
		n, err := w.weigh(append(slices.Clone(at), step), inner)
		weight = min(weight+n, 2*MaxWeight)
		return err
	}
	switch v := v.(type) {
	case bool:
		w.parts++
	case map[string]any:
		w.parts++
		for name, inner := range v {
			if err := w.allowed(at, name, inner); err != nil {
				return 0, err
			}
			if name == "pattern" || name == "patternProperties" || name == "format" && inner == "regex" {
				w.patterns = true
			}
			if to, isText := inner.(string); name == "$ref" && isText {
				steps, target, err := w.resolve(to)
				if err != nil {
					return 0, err
				}
				n, err := w.weigh(steps, target)
				if err != nil {
					return 0, err
				}
				weight = min(weight+n, 2*MaxWeight)
				continue
			}
			if err := add(name, inner); err != nil {
				return 0, err
			}
		}
	case []any:
		for i, inner := range v {
			if err := add(strconv.Itoa(i), inner); err != nil {
				return 0, err
			}
		}
	case json.Number:
		if !checkable(v) {
			return 0, refused("holds a number that cannot be checked at %s", strconv.Quote("#"+place))
		}
		weight = min(weight+effort(v), 2*MaxWeight)
	}
	w.known[place] = weight
	return weight, nil
}

func (*weigher) allowed(at []string, name string, v any) error {
	_, isText := v.(string)
	_, isBool := v.(bool)
	switch {
	case slices.Contains(unsupported, name) && (isText || isBool), name == "$id" && isText && len(at) > 0:
		return refused("holds %s, which is not allowed; use $ref with a JSON Pointer, as in \"#/$defs/line\"", name)
	}
	return nil
}

// resolve finds what a $ref leads to.
func (w *weigher) resolve(ref string) (steps []string, target any, err error) {
	wrong := refused("has a $ref to %s, where nothing is; it must be a JSON Pointer into the schema, as in \"#/$defs/line\"", shortened(strconv.Quote(ref)))
	rest, inside := strings.CutPrefix(ref, "#")
	decoded, bad := url.PathUnescape(rest)
	if !inside || bad != nil || decoded != "" && !strings.HasPrefix(decoded, "/") {
		return nil, nil, wrong
	}
	target = w.root
	if decoded == "" {
		return nil, target, nil
	}
	for step := range strings.SplitSeq(decoded[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		found := false
		switch t := target.(type) {
		case map[string]any:
			target, found = t[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(t) {
				target, found = t[i], true
			}
		}
		if !found {
			return nil, nil, wrong
		}
		steps = append(steps, step)
	}
	return steps, target, nil
}

func pointer(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
	}
	return b.String()
}

// noLoader is a loader of other schemas that refuses all.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not available: a schema stands alone", url)
}

// reason is what a schema violates, without the address that the compiler knows it by.
func reason(err error) string {
	var invalid *jsonschema.SchemaValidationError
	var wrong *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &wrong) {
		return strings.Join(leaves(wrong, nil), "; ")
	}
	return shortened(strings.ReplaceAll(err.Error(), location, ""))
}

func shortened(s string) string {
	if runes := []rune(s); len(runes) > maxMistake {
		return string(runes[:maxMistake-1]) + "…"
	}
	return s
}

func refused(format string, args ...any) error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...))
}
