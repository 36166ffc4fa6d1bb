package metadata

import "github.com/tocsin/tocsin/domain/fault"

// Mode is how a PATCH applies the metadata that it sends (contract 4.1, decisions 4).
type Mode string

// The modes. The zero value is Merge.
const (
	Merge    Mode = "merge"    // objects merge at every depth, anything else is replaced, null is a value
	Override Mode = "override" // top-level members are replaced
	Rewrite  Mode = "rewrite"  // exactly what is sent
	Remove   Mode = "remove"   // the members sent are deleted
	Ignore   Mode = "ignore"   // metadata stays
)

// ParseMode reads a `_mode`; the empty string is Merge.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Merge, nil
	case Merge, Override, Rewrite, Remove, Ignore:
		return m, nil
	}
	return "", fault.Field("_mode", "must be one of merge, override, rewrite, remove, ignore")
}

// Apply returns what stored becomes when sent is applied in this mode. Neither argument is changed.
// The result may be larger than either: ErrTooLarge when it exceeds MaxBytes, ErrTooMany when it
// has more than MaxValues values and more than stored has.
func (mode Mode) Apply(stored, sent Map) (Map, error) {
	var result Map
	switch mode {
	case Merge, "":
		result = Map(merged(map[string]any(stored), map[string]any(sent)))
	case Override:
		result = stored.Clone()
		for k, v := range sent {
			result[k] = cloneValue(v)
		}
	case Rewrite:
		result = sent.Clone()
	case Remove:
		result = Map(without(map[string]any(stored), map[string]any(sent)))
	case Ignore:
		return stored.Clone(), nil
	default:
		_, err := ParseMode(string(mode))
		return nil, err
	}
	if err := result.check(max(MaxValues, stored.Count())); err != nil {
		return nil, err
	}
	return result, nil
}

func merged(stored, sent map[string]any) map[string]any {
	result := Map(stored).Clone()
	for k, v := range sent {
		was, wasObject := result[k].(map[string]any)
		is, isObject := v.(map[string]any)
		if wasObject && isObject {
			result[k] = merged(was, is)
			continue
		}
		result[k] = cloneValue(v)
	}
	return result
}

// without deletes the members of sent from stored. If both have an object under a name, and the
// sent one is not empty, it recurses, and deletes the object if it becomes empty.
func without(stored, sent map[string]any) map[string]any {
	result := Map(stored).Clone()
	for k, v := range sent {
		was, wasObject := result[k].(map[string]any)
		is, isObject := v.(map[string]any)
		if !wasObject || !isObject || len(is) == 0 {
			delete(result, k)
			continue
		}
		rest := without(was, is)
		if len(rest) == 0 && len(was) > 0 {
			delete(result, k)
			continue
		}
		result[k] = rest
	}
	return result
}
