package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kindOf names a schema in a few words, and the schema among the components that the words are about.
func kindOf(s schema) (kind, link string) {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return name, "schema-" + anchor(name)
	case s.Items != nil:
		inner, link := kindOf(*s.Items)
		return strings.ReplaceAll(strings.Join(s.Type, " or "), "array", "array of "+inner), link
	default:
		return strings.Join(s.Type, " or "), ""
	}
}

func (b builder) object(name string, s schema) (objectView, error) {
	kind, _ := kindOf(s)
	view := objectView{Name: name, ID: "schema-" + anchor(name), Kind: kind, Description: blocks(s.Description), Fields: fields("", s)}
	if words := allowed(s); words != "" {
		view.Description = append(view.Description, blocks(words)...)
	}
	var err error
	view.Example, err = b.exampleText(mediaType{Schema: s})
	return view, err
}

// fields lists the members of an object, those of inline objects below their own.
func fields(prefix string, s schema) []fieldView {
	var views []fieldView
	for _, p := range s.Properties {
		kind, link := kindOf(p.value)
		view := fieldView{Name: prefix + p.name, Kind: kind, Link: link, Required: slices.Contains(s.Required, p.name)}
		view.Description = blocks(p.value.Description)
		if words := allowed(p.value); words != "" && !strings.Contains(p.value.Description, "- `") {
			view.Description = append(view.Description, blocks(words)...)
		}
		view.Description = append(view.Description, blocks(bounds(p.value))...)
		views = append(views, view)
		views = append(views, fields(prefix+p.name+".", p.value)...)
		if p.value.Items != nil {
			views = append(views, fields(prefix+p.name+"[].", *p.value.Items)...)
		}
	}
	return views
}

// bounds says how long a text or a list may be.
func bounds(s schema) string {
	switch {
	case s.MaxLength > 0:
		return fmt.Sprintf("At most %d characters.", s.MaxLength)
	case s.MinItems > 0 && s.MaxItems > 0:
		return fmt.Sprintf("%d to %d entries.", s.MinItems, s.MaxItems)
	case s.MaxItems > 0:
		return fmt.Sprintf("At most %d entries.", s.MaxItems)
	}
	return ""
}

// allowed names the values of an enumeration.
func allowed(s schema) string {
	var words []string
	for _, v := range s.Enum {
		if v.node != nil && v.node.Value != "" {
			words = append(words, "`"+v.node.Value+"`")
		}
	}
	if s.Const.node != nil {
		words = append(words, "`"+s.Const.node.Value+"`")
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return "Always " + words[0] + "."
	}
	return "One of " + strings.Join(words, ", ") + "."
}

func (b builder) exampleText(m mediaType) (string, error) {
	n := m.Example.node
	if n == nil {
		var err error
		if n, err = b.example(m.Schema); err != nil {
			return "", err
		}
	}
	var compact, indented bytes.Buffer
	if err := writeJSON(&compact, n); err != nil {
		return "", err
	}
	if compact.Len() <= shortExample {
		return compact.String(), nil
	}
	err := json.Indent(&indented, compact.Bytes(), "", "  ")
	return indented.String(), err
}

// shortExample is the length up to which an example stays on one line.
const shortExample = 60

// example is a value of the schema: its own example, else one made of its parts' examples.
func (b builder) example(s schema) (*yaml.Node, error) {
	switch {
	case s.Ref != "":
		_, found, err := b.Components.Schemas.resolve(s.Ref)
		if err != nil {
			return nil, err
		}
		return b.example(found)
	case len(s.Examples) > 0:
		return s.Examples[0].node, nil
	case s.Const.node != nil:
		return s.Const.node, nil
	case s.Items != nil:
		item, err := b.example(*s.Items)
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{item}}, err
	case len(s.Properties) > 0:
		object := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, p := range s.Properties {
			value, err := b.example(p.value)
			if err != nil {
				return nil, err
			}
			object.Content = append(object.Content, text(p.name), value)
		}
		return object, nil
	case len(s.Enum) > 0:
		return s.Enum[0].node, nil
	}
	return placeholder(s.Type), nil
}

func placeholder(t types) *yaml.Node {
	switch {
	case slices.Contains(t, "integer"):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"}
	case slices.Contains(t, "boolean"):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
	case slices.Contains(t, "object"):
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	return text("…")
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
