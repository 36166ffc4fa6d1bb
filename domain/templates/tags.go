package templates

import (
	"maps"
	"slices"
	"strings"
)

// Limits of what is listed.
const (
	maxTags     = 200
	maxItemTags = 10 // of the items of one list
)

// ShapeOf returns the shape of a decoded JSON value.
func ShapeOf(v any) *Shape {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		members := make(map[string]*Shape, len(v))
		for name, m := range v {
			members[name] = ShapeOf(m)
		}
		return Object(members)
	case []any:
		s := &Shape{List: true}
		if len(v) > 0 {
			s.Item = ShapeOf(v[0])
		}
		return s
	default:
		return Scalar()
	}
}

// Tags returns the tags that show the variables of a value, in alphabetical order: `{{a.b}}`, and
// `{{#list}}{{member}}{{/list}}` for lists. It returns at most 200.
func (s *Shape) Tags() []string { return s.tags("", 1, nil) }

func (s *Shape) tags(before string, depth int, found []string) []string {
	if s == nil || depth > maxDepth {
		return found
	}
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		if len(found) >= maxTags {
			break
		}
		m, full := s.Members[name], before+name
		switch {
		case strings.ContainsAny(name, "{}. \t\r\n"): // No tag can name it.
		case m == nil || m.isScalar():
			found = append(found, "{{"+full+"}}")
		case m.List:
			found = append(found, "{{#"+full+"}}"+m.Item.item()+"{{/"+full+"}}")
		default:
			found = m.tags(full+".", depth+1, found)
		}
	}
	return found
}

// Names returns the names of the variables of a value, as `a.b`, and `a.*` for one within which
// there may be any: at most some thousand.
func (s *Shape) Names() []string { return s.names("", 1, nil) }

func (s *Shape) names(before string, depth int, found []string) []string {
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		if len(found) >= maxPaths || strings.ContainsAny(name, "{}. \t\r\n") {
			continue
		}
		m, full := s.Members[name], before+name
		found = append(found, full)
		if m == nil || m.Open || m.List || depth == maxDepth {
			found = append(found, full+".*")
		} else {
			found = m.names(full+".", depth+1, found)
		}
	}
	return found
}

func (s *Shape) isScalar() bool { return len(s.Members) == 0 && !s.Open && !s.List }

// item returns the tags that show an item of a list.
func (s *Shape) item() string {
	all := s.tags("", maxDepth, nil)
	if len(all) == 0 {
		return "{{.}}"
	}
	return strings.Join(all[:min(len(all), maxItemTags)], " ")
}
