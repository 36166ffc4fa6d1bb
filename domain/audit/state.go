package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"
)

// State is an object in an entry, before or after the change: plain data, without secrets.
type State map[string]any

// The limits of a state, in bytes of JSON, and of each value of a longer one, in bytes.
const (
	MaxState = 4 << 10
	maxValue = 256
)

// Changed returns the differences of two states, of nested objects only the members that differ; a
// missing member is null.
func Changed(before, after State) (was, is State) {
	was, is = State{}, State{}
	for _, s := range []State{before, after} {
		for key := range s {
			b, a := before[key], after[key]
			within, alike := b.(map[string]any)
			if inAfter, too := a.(map[string]any); alike && too {
				b, a = changedMembers(within, inAfter)
			}
			if !reflect.DeepEqual(b, a) {
				was[key], is[key] = b, a
			}
		}
	}
	return was, is
}

func changedMembers(before, after map[string]any) (was, is any) {
	b, a := Changed(before, after)
	return map[string]any(b), map[string]any(a)
}

// Text returns the state as JSON. If it is longer than MaxState, the longest values are cut: each
// is replaced by its beginning and its length.
func (s State) Text() (string, error) {
	text, err := json.Marshal(s)
	if err != nil || len(text) <= MaxState {
		return string(text), err
	}
	values, err := encoded(s)
	if err != nil {
		return "", err
	}
	length := len(text)
	longestFirst := slices.SortedFunc(maps.Keys(values), func(a, b string) int { return len(values[b]) - len(values[a]) })
	for _, key := range longestFirst {
		if length <= MaxState {
			break
		}
		note, err := json.Marshal(cut(values[key]))
		if err != nil {
			return "", err
		}
		length += len(note) - len(values[key])
		values[key] = note
	}
	text, err = json.Marshal(values)
	return string(text), err
}

func encoded(s State) (map[string]json.RawMessage, error) {
	values := make(map[string]json.RawMessage, len(s))
	for key, v := range s {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		values[key] = text
	}
	return values, nil
}

// cut returns the beginning of a value, in whole characters, and its length.
func cut(value json.RawMessage) string {
	end := min(maxValue, len(value))
	for end > 0 && end < len(value) && !utf8.RuneStart(value[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes, cut)", value[:end], len(value))
}
