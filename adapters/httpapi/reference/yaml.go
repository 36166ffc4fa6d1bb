package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// flatten replaces aliases and merge keys with their values. It keeps the order of members.
func flatten(n *yaml.Node) *yaml.Node {
	switch n.Kind {
	case yaml.DocumentNode:
		return flatten(n.Content[0])
	case yaml.AliasNode:
		return flatten(n.Alias)
	case yaml.SequenceNode:
		items := *n
		items.Anchor, items.Content = "", nil
		for _, item := range n.Content {
			items.Content = append(items.Content, flatten(item))
		}
		return &items
	case yaml.MappingNode:
		members := *n
		members.Anchor, members.Content = "", nil
		for i := 0; i < len(n.Content); i += 2 {
			name, value := n.Content[i], flatten(n.Content[i+1])
			if name.Tag != "!!merge" {
				members.Content = append(members.Content, name, value)
				continue
			}
			for j := 0; j < len(value.Content); j += 2 {
				if find(&members, value.Content[j].Value) == nil {
					members.Content = append(members.Content, value.Content[j], value.Content[j+1])
				}
			}
		}
		return &members
	default:
		scalar := *n
		scalar.Anchor = ""
		return &scalar
	}
}

func find(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// merge merges a mapping into another one. If both have a member, it must be a mapping, and is
// merged too.
func merge(into, from *yaml.Node) error {
	for i := 0; i+1 < len(from.Content); i += 2 {
		name, value := from.Content[i], from.Content[i+1]
		switch there := find(into, name.Value); {
		case there == nil:
			into.Content = append(into.Content, name, value)
		case there.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			if err := merge(there, value); err != nil {
				return fmt.Errorf("%s: %w", name.Value, err)
			}
		default:
			return fmt.Errorf("%s is given twice", name.Value)
		}
	}
	return nil
}

func remove(mapping *yaml.Node, name string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// writeJSON writes a flattened node in its original order.
func writeJSON(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Tag {
	case "!!map":
		return writeObject(b, n)
	case "!!seq":
		return writeArray(b, n)
	case "!!str":
		return writeString(b, n.Value)
	case "!!null":
		b.WriteString("null")
	case "!!int", "!!float", "!!bool":
		if !json.Valid([]byte(n.Value)) {
			return fmt.Errorf("line %d: %s has no JSON form", n.Line, n.Value)
		}
		b.WriteString(n.Value)
	default:
		return fmt.Errorf("line %d: a value of type %s has no JSON form", n.Line, n.Tag)
	}
	return nil
}

func writeObject(b *bytes.Buffer, n *yaml.Node) error {
	b.WriteByte('{')
	for i := 0; i < len(n.Content); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeString(b, n.Content[i].Value); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := writeJSON(b, n.Content[i+1]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeArray(b *bytes.Buffer, n *yaml.Node) error {
	b.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeJSON(b, item); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeString(b *bytes.Buffer, s string) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the newline
	return nil
}
