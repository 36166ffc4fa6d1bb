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
func (d *treeDecoder) settings(to *channels.Settings) field {
	return d.anyMapping(func(m map[string]any) { *to = m })
}

// anyMapping reads a mapping of any JSON values.
func (d *treeDecoder) anyMapping(take func(map[string]any)) field {
	return func(path string, n *yaml.Node) {
		n, given := d.resolve(path, n)
		if !given {
			return
		}
		if n.Kind != yaml.MappingNode {
			d.addMistake(n, path, "must be a mapping")
			return
		}
		take(d.mapping(path, n, 1))
	}
}

func (d *treeDecoder) mapping(path string, n *yaml.Node, depth int) map[string]any {
	m := map[string]any{}
	for _, p := range d.members(path, n) {
		m[p.key.Value] = d.value(joinPath(path, p.key.Value), p.value, depth+1)
	}
	return m
}

func (d *treeDecoder) value(path string, n *yaml.Node, depth int) any {
	n, given := d.resolve(path, n)
	if !given {
		return nil
	}
	if depth > maxDepth {
		d.addMistake(n, path, fmt.Sprintf("is nested deeper than %d levels", maxDepth))
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.mapping(path, n, depth)
	case yaml.SequenceNode:
		all := make([]any, len(n.Content))
		for i, element := range n.Content {
			all[i] = d.value(path+"["+strconv.Itoa(i)+"]", element, depth+1)
		}
		return all
	default:
		return d.scalar(path, n)
	}
}

// scalar reads a boolean, a number or a text. YAML timestamps are read as texts.
func (d *treeDecoder) scalar(path string, n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			d.addMistake(n, path, "must be true, false, a number or a text")
			return nil
		}
		if f, isFloat := v.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
			d.addMistake(n, path, "must be a finite number")
			return nil
		}
		return v
	case "!!str", "!!timestamp":
		text, wrong := d.expand(n.Value)
		if wrong != "" {
			d.addMistake(n, path, wrong)
		}
		return text
	}
	d.addMistake(n, path, "must be true, false, a number or a text")
	return nil
}

// variable matches what expand replaces: an escaped dollar, a variable, or the start of an invalid
// one.
var variable = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// expand replaces the variables in a text, or returns what is wrong with it. The error never
// contains the value of a variable, which may be a secret.
func (d *treeDecoder) expand(text string) (expanded, wrong string) {
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

// variable looks up an environment variable; the last of several counts.
func (d *treeDecoder) variable(name string) (value string, set bool) {
	for _, entry := range d.environ {
		if v, found := strings.CutPrefix(entry, name+"="); found {
			value, set = v, true
		}
	}
	return value, set
}
