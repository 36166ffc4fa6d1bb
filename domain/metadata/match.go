package metadata

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Condition selects metadata by a value at a path. The zero Condition selects all.
type Condition struct {
	// Path names a member, or with dots one within an object: `address.city`. A dot may be part of
	// a name as well.
	Path string
	// Text is the value as text: strings without their quotes, numbers as they were sent, true,
	// false, null. One element of an array must equal it. Empty: any value of any type.
	Text string
}

// IsZero reports whether there is no condition.
func (c Condition) IsZero() bool { return c.Path == "" }

// Matches reports whether metadata meets the condition.
func (c Condition) Matches(m Map) bool {
	return c.IsZero() || c.matchesBelow(map[string]any(m), c.Path)
}

// matchesBelow takes time proportional to the number of members, whatever the length of the path,
// because callers choose the path.
func (c Condition) matchesBelow(object map[string]any, path string) bool {
	for name, v := range object {
		rest, begins := strings.CutPrefix(path, name)
		switch {
		case !begins:
		case rest == "":
			if c.matchesValue(v) {
				return true
			}
		case rest[0] == '.':
			if inner, isObject := v.(map[string]any); isObject && c.matchesBelow(inner, rest[1:]) {
				return true
			}
		}
	}
	return false
}

func (c Condition) matchesValue(v any) bool {
	if c.Text == "" {
		return true
	}
	if elements, isArray := v.([]any); isArray {
		return slices.ContainsFunc(elements, func(e any) bool { return textOf(e) == c.Text })
	}
	return textOf(v) == c.Text
}

// Texts returns the texts and numbers at a path, including elements of arrays, as text.
func (m Map) Texts(path string) []string { return textsBelow(map[string]any(m), path) }

func textsBelow(object map[string]any, path string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		v := object[name]
		rest, begins := strings.CutPrefix(path, name)
		switch {
		case !begins:
		case rest == "":
			elements, isArray := v.([]any)
			if !isArray {
				elements = []any{v}
			}
			for _, e := range elements {
				switch e.(type) {
				case string, json.Number:
					all = append(all, textOf(e))
				}
			}
		case rest[0] == '.':
			if inner, isObject := v.(map[string]any); isObject {
				all = append(all, textsBelow(inner, rest[1:])...)
			}
		}
	}
	return all
}

// textOf returns a scalar as text; empty for objects and arrays.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Substrings returns texts that [Map.Encode] writes for all metadata that matches the condition. It
// may write them for other metadata, too. A search can skip every text without all of them.
func (c Condition) Substrings() []string {
	if c.IsZero() {
		return nil
	}
	name := c.Path[strings.LastIndexByte(c.Path, '.')+1:]
	traces := []string{within(name) + `":`}
	if c.Text != "" {
		traces = append(traces, within(c.Text))
	}
	return traces
}

// within is a text as it stands within the quotes of a JSON string, or as a number, true, false or
// null.
func within(s string) string {
	text, err := JSON(s)
	if err != nil {
		return "" // Impossible: every text has a JSON form. And "" is in every text.
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `"`), `"`)
}
