package blueprint

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/tocsin/tocsin/domain/channels"
)

// settings reads the settings of a channel.
func (d *decoding) settings(to *channels.Settings) field {
	return d.anything(func(m map[string]any) { *to = m })
}

// anything reads a mapping of any JSON values.
func (d *decoding) anything(take func(map[string]any)) field {
	return func(place string, n *yaml.Node) {
		n, given := d.enter(place, n)
		if !given {
			return
		}
		if n.Kind != yaml.MappingNode {
			d.blame(n, place, "must be a mapping")
			return
		}
		take(d.mapping(place, n, 1))
	}
}

func (d *decoding) mapping(place string, n *yaml.Node, depth int) map[string]any {
	m := map[string]any{}
	for _, p := range d.members(place, n) {
		m[p.key.Value] = d.value(below(place, p.key.Value), p.value, depth+1)
	}
	return m
}

func (d *decoding) value(place string, n *yaml.Node, depth int) any {
	n, given := d.enter(place, n)
	if !given {
		return nil
	}
	if depth > maxDepth {
		d.blame(n, place, fmt.Sprintf("is nested deeper than %d levels", maxDepth))
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.mapping(place, n, depth)
	case yaml.SequenceNode:
		all := make([]any, len(n.Content))
		for i, element := range n.Content {
			all[i] = d.value(place+"["+strconv.Itoa(i)+"]", element, depth+1)
		}
		return all
	default:
		return d.scalar(place, n)
	}
}

// scalar reads a boolean, a number or a text. YAML timestamps are read as texts.
func (d *decoding) scalar(place string, n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			d.blame(n, place, "must be a truth, a number or a text")
			return nil
		}
		if f, isFloat := v.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
			d.blame(n, place, "must be a finite number")
			return nil
		}
		return v
	case "!!str", "!!timestamp":
		text, wrong := d.expand(n.Value)
		if wrong != "" {
			d.blame(n, place, wrong)
		}
		return text
	}
	d.blame(n, place, "must be a truth, a number or a text")
	return nil
}

// variable matches what expand replaces: an escaped dollar, a variable, or the start of an invalid
// one.
var variable = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// expand replaces the variables in a text, and says what is wrong with it. It never returns the
// expanded text in an error, since it may be a secret.
func (d *decoding) expand(text string) (expanded, wrong string) {
	var b strings.Builder
	rest := text
	for {
		at := variable.FindStringSubmatchIndex(rest)
		if at == nil {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:at[0]])
		switch rest[at[0]:at[1]] {
		case "$${":
			b.WriteString("${")
		case "${":
			return "", "${ begins a variable such as ${NAME}; write $${ for the characters themselves"
		default:
			name := rest[at[2]:at[3]]
			value, set := d.variable(name)
			if !set {
				return "", "the environment variable " + name + " is not set"
			}
			b.WriteString(value)
		}
		rest = rest[at[1]:]
		if b.Len() > maxText {
			break
		}
	}
	switch expanded = b.String(); {
	case len(expanded) > maxText:
		return "", fmt.Sprintf("is longer than %d KiB", maxText>>10)
	case !utf8.ValidString(expanded) || strings.ContainsRune(expanded, 0):
		return "", "contains a NUL character or is not UTF-8"
	}
	return expanded, ""
}

// variable looks up a variable; the last of several counts, as in a process.
func (d *decoding) variable(name string) (value string, set bool) {
	for _, entry := range d.environ {
		if v, found := strings.CutPrefix(entry, name+"="); found {
			value, set = v, true
		}
	}
	return value, set
}
