package configs

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is a parsed configuration file. Every value is kept as its source text: YAML would read
// a key of 64 digits as a number, and 1e3 as 1000.
type document struct {
	texts    map[string]any // strings, by name
	lines    map[string]int
	mistakes []fileMistake
}

type fileMistake struct {
	name    string
	line    int
	message string
}

// decode parses a configuration file. The error is about the file as a whole; mistakes in its parts
// are in the document.
func decode(data []byte) (document, error) {
	d := document{texts: map[string]any{}, lines: map[string]int{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF): // empty, or only comments
		return d, nil
	case err != nil:
		return d, syntax(err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return d, errors.New("must be one YAML document")
	}
	top := root.Content[0]
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" {
		return d, nil
	}
	if top.Kind != yaml.MappingNode {
		return d, errors.New("must be a YAML mapping of settings")
	}
	all := settable()
	for pair := range slices.Chunk(top.Content, 2) {
		d.take(all, pair[0], pair[1])
	}
	return d, nil
}

// take records one member of the file, if its name is in all. A null counts as not set.
func (d *document) take(all []string, key, value *yaml.Node) {
	name := key.Value
	switch {
	case key.Kind != yaml.ScalarNode || !nameShape.MatchString(name):
		// Such a key is probably a value in the wrong place, so it is not repeated.
		d.addMistake("?", key.Line, "is no setting")
		return
	case !slices.Contains(all, name):
		d.addMistake(name, key.Line, "is no setting"+suggest(name, all))
		return
	case d.lines[name] > 0:
		d.addMistake(name, key.Line, "is given twice in this file")
		return
	}
	d.lines[name] = key.Line
	list := slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Name == name && s.List })
	switch {
	case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
	case value.Kind == yaml.ScalarNode:
		d.texts[name] = value.Value
	case list && value.Kind == yaml.SequenceNode && !slices.ContainsFunc(value.Content, notScalar):
		parts := make([]string, len(value.Content))
		for i, part := range value.Content {
			parts[i] = part.Value
		}
		d.texts[name] = strings.Join(parts, ",")
	case list:
		d.addMistake(name, value.Line, "must be plain values, or a sequence of them")
	default:
		d.addMistake(name, value.Line, "must be one plain value")
	}
}

func (d *document) addMistake(name string, line int, message string) {
	d.mistakes = append(d.mistakes, fileMistake{name: name, line: line, message: message})
}

func notScalar(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }

// nameShape matches a misspelt name. It is too short for a key in hex.
var nameShape = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// syntax returns an error of the YAML parser without the only part that it quotes from the file,
// names of anchors.
func syntax(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.Contains(message, "anchor") {
		message = "refers to an anchor that is not there"
	}
	return errors.New("is not YAML: " + message)
}
