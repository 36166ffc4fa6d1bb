package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a value of an entry before the change, after it, or both.
type Difference struct {
	Field         string // its name; for a nested value the path: `custom_fields.plan`
	Before, After string // as text; empty: there was none
	Switch        bool   // it is yes or no
}

// Differences returns the values of the entry before and after, by their names. An unchanged value
// appears once, with After only.
func (e Entry) Differences() []Difference {
	before, after := map[string]value{}, map[string]value{}
	flatten(before, "", e.Before)
	flatten(after, "", e.After)
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	all := make([]Difference, len(names))
	for i, name := range names {
		all[i] = Difference{Field: name, Before: before[name].text, After: after[name].text, Switch: before[name].is || after[name].is}
		if all[i].Before == all[i].After {
			all[i].Before = ""
		}
	}
	return all
}

// value is a value of a state as text, and whether it is a switch.
type value struct {
	text string
	is   bool
}

// flatten adds the values of a state by their names, which begin with a prefix.
func flatten(into map[string]value, prefix string, s map[string]any) {
	for key, v := range s {
		switch v := v.(type) {
		case map[string]any:
			flatten(into, prefix+key+".", v)
		case State:
			flatten(into, prefix+key+".", v)
		case bool:
			into[prefix+key] = value{valueText(v), true}
		default:
			into[prefix+key] = value{text: valueText(v)}
		}
	}
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		texts := make([]string, len(v))
		for i, one := range v {
			texts[i] = valueText(one)
		}
		return strings.Join(texts, ", ")
	case map[string]any, State, []string:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}
