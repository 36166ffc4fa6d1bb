// Package blueprint parses the YAML of `apply` and of the API: it turns text into a blueprint for
// the use case, or reports all mistakes at once. It does not know what is stored, or which names
// and values are valid.
package blueprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"

	"github.com/tocsin/tocsin/app"
	"github.com/tocsin/tocsin/domain/fault"
)

// The limits of a file. A blueprint of thousands of objects is far below them. They stop wrong or
// malicious files.
const (
	MaxBytes = 16 << 20
	maxNodes = 250_000   // of the tree with all aliases expanded
	maxDepth = 32        // of a value in settings
	maxText  = 256 << 10 // of one text in settings with all variables expanded, in bytes
)

// File is a blueprint and its source text.
type File struct {
	Blueprint app.Blueprint
	name      string
	root      *yaml.Node
}

// Parse parses a file of one YAML document. In the texts of channel settings, `${NAME}` is the
// value of an environment variable, which must be set, and `$${` stands for `${`; values of
// variables are not expanded further. Aliases and merge keys are allowed. Space around texts is
// trimmed, except in settings and in the text, html and markdown of templates and partials. A null
// member counts as missing. The name is the file's name in mistakes; the error is [Mistakes].
func Parse(name string, text []byte, environ []string) (File, error) {
	f := File{name: name}
	if len(text) > MaxBytes {
		return f, Mistakes{{File: name, Message: fmt.Sprintf("is larger than %d MiB", MaxBytes>>20)}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(withKnownEscapes(text)))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return f, Mistakes{{File: name, Message: "is empty: there must be a member organizations"}}
	} else if err != nil {
		return f, Mistakes{syntax(name, err)}
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return f, Mistakes{{File: name, Line: second.Line, Message: "a second document begins, there must be only one"}}
	} else if !errors.Is(err, io.EOF) {
		return f, Mistakes{syntax(name, err)}
	}
	f.root = document.Content[0]
	d := treeDecoder{file: name, environ: environ}
	f.Blueprint = d.blueprint(f.root)
	if len(d.mistakes) > 0 {
		return f, d.mistakes.sorted()
	}
	return f, nil
}

// escape matches a surrogate pair, or any other JSON escape.
var escape = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)

// withKnownEscapes replaces the JSON escapes that the YAML parser does not know: surrogate pairs,
// and the slash. It returns a text that is not JSON unchanged.
func withKnownEscapes(text []byte) []byte {
	if !json.Valid(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		return text
	}
	return escape.ReplaceAllFunc(text, func(found []byte) []byte {
		if string(found) == `\/` {
			return []byte("/")
		}
		if len(found) < len(`\ud83d\ude00`) {
			return found
		}
		high, _ := strconv.ParseUint(string(found[2:6]), 16, 16) // Cannot fail: four hexadecimal digits.
		low, _ := strconv.ParseUint(string(found[8:12]), 16, 16)
		return fmt.Appendf(nil, `\U%08X`, utf16.DecodeRune(rune(high), rune(low)))
	})
}

var (
	syntaxError = regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s).*)$`)
	// zeroBased matches the errors for which the YAML parser counts lines from 0.
	zeroBased = regexp.MustCompile(`^did not find expected (key|node content|'-' indicator|',' or|<)`)
)

// syntax turns an error of the YAML parser into a mistake.
func syntax(name string, err error) Mistake {
	m := Mistake{File: name, Message: "is not YAML: " + err.Error()}
	if found := syntaxError.FindStringSubmatch(err.Error()); found != nil {
		m.Line, _ = strconv.Atoi(found[1]) // No line is 0.
		if zeroBased.MatchString(found[2]) {
			m.Line++
		}
		m.Message = "is not YAML: " + found[2]
	}
	return m
}

// Locate adds the lines of the file to the mistakes that the use case finds in the blueprint. It
// returns other errors unchanged.
func (f File) Locate(err error) error {
	var wrong *fault.Error
	if !errors.As(err, &wrong) || len(wrong.Fields()) == 0 {
		return err
	}
	var all Mistakes
	for _, field := range wrong.Fields() {
		for _, message := range field.Messages {
			all = append(all, Mistake{File: f.name, Line: f.line(field.Name), Path: field.Name, Message: message})
		}
	}
	return all.sorted()
}

var step = regexp.MustCompile(`^(?:\[(\d+)\]|\.?([^.\[]+))`)

// line returns the line of the value at a path, else that of its parent.
func (f File) line(path string) int {
	at := f.root
	line := at.Line
	for steps := 0; path != "" && steps < maxDepth; steps++ {
		found := step.FindStringSubmatch(path)
		if found == nil {
			return line
		}
		path = path[len(found[0]):]
		at = resolveAlias(at)
		switch i, err := strconv.Atoi(found[1]); {
		case at.Kind == yaml.SequenceNode && err == nil && i < len(at.Content):
			at = at.Content[i]
			line = at.Line
		case at.Kind == yaml.MappingNode && found[2] != "":
			pairs, _ := members(at) // Parse has checked them.
			i := slices.IndexFunc(pairs, func(p pair) bool { return p.key.Value == found[2] })
			if i < 0 {
				return line
			}
			at, line = pairs[i].value, pairs[i].key.Line
		default:
			return line
		}
	}
	return line
}
