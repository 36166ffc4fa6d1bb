package templates

import (
	"maps"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
)

// Shape describes the possible values of template data. Nil allows any value.
type Shape struct {
	Members map[string]*Shape
	Open    bool   // there may be other members
	List    bool   // it may be a list
	Item    *Shape // of the list
}

// Scalar returns the shape of a text, a number or a boolean.
func Scalar() *Shape { return &Shape{} }

// Object returns the shape of an object with exactly these members.
func Object(members map[string]*Shape) *Shape { return &Shape{Members: members} }

// has reports whether there may be a member of this name, and what is known of it.
func (s *Shape) has(name string) (member *Shape, ok bool) {
	if s == nil {
		return nil, true
	}
	member, ok = s.Members[name]
	return member, ok || s.Open
}

// sectionShape returns the shape of the context in a section of this value.
func (s *Shape) sectionShape() *Shape {
	switch {
	case s == nil || !s.List:
		return s
	case len(s.Members) > 0 || s.Open:
		return nil // A list or an object.
	default:
		return s.Item
	}
}

// Limits of what is reported.
const (
	maxMistakes = 20    // of one part
	maxPaths    = 1_000 // that are considered for a suggestion
	maxCompared = 2_000 // paths that are considered for all suggestions of one part
	maxDepth    = 6     // parts of such a path
)

// Check returns a fault that names every variable of the template that data of this shape cannot
// have, by part and line, with the one that was probably meant.
func (t *Template) Check(data *Shape) error {
	var faults fault.Fields
	for _, p := range t.parts() {
		c := checker{frames: []*Shape{data}, reported: map[string]bool{}}
		c.nodes(p.nodes)
		for _, m := range c.mistakes {
			faults.Add(p.name, m)
		}
	}
	return faults.Err()
}

// Fits reports whether Check returns no error. It is faster for a template that does not fit.
func (t *Template) Fits(data *Shape) bool {
	for _, p := range t.parts() {
		c := checker{frames: []*Shape{data}, failFast: true}
		if c.nodes(p.nodes); c.failed {
			return false
		}
	}
	return true
}

// checker checks the variables of one part against the shape of its data.
type checker struct {
	frames   []*Shape // the data, then what each section around a node speaks of
	reported map[string]bool
	mistakes []error
	compared int  // paths
	failFast bool // stop at the first mistake
	failed   bool // a mistake was found with failFast
}

func (c *checker) nodes(nodes []node) {
	for i := range nodes {
		n := &nodes[i]
		if n.kind == literal {
			continue
		}
		v, known := c.find(n.path)
		if !known {
			c.unknown(n)
		}
		if c.failed {
			return
		}
		if n.kind == section {
			c.frames = append(c.frames, v.sectionShape())
			c.nodes(n.inner)
			c.frames = c.frames[:len(c.frames)-1]
		} else {
			c.nodes(n.inner)
		}
	}
}

// unknown records a variable that does not exist.
func (c *checker) unknown(n *node) {
	if c.failFast {
		c.failed = true
		return
	}
	if name := strings.Join(n.path, "."); !c.reported[name] && len(c.mistakes) < maxMistakes {
		c.reported[name] = true
		c.mistakes = append(c.mistakes, n.mistake("there is no variable %s%s", quoted(name), c.suggest(n.path)))
	}
}

// find looks a name up as the renderer does. known is false when there cannot be such a variable.
func (c *checker) find(path []string) (found *Shape, known bool) {
	top := len(c.frames) - 1
	if len(path) == 0 {
		return c.frames[top], true
	}
	for i := top; i >= 0 && !known; i-- {
		found, known = c.frames[i].has(path[0])
	}
	for _, part := range path[1:] {
		if !known || found == nil {
			return nil, known
		}
		found, known = found.has(part)
	}
	return found, known
}

// suggest ends a sentence about an unknown variable with the one that was probably meant: the only
// one with the same last part, else a similar one.
func (c *checker) suggest(path []string) string {
	var paths, same []string
	if c.compared >= maxCompared {
		return ""
	}
	for _, f := range slices.Backward(c.frames) {
		paths = f.paths("", 1, paths)
	}
	c.compared += len(paths)
	last := path[len(path)-1]
	for _, p := range paths {
		if p == last || strings.HasSuffix(p, "."+last) {
			same = append(same, p)
		}
	}
	meant, ok := names.Nearest(strings.Join(path, "."), paths)
	if len(same) == 1 {
		meant, ok = same[0], true
	}
	if !ok {
		return ""
	}
	return ", did you mean " + quoted(meant) + "?"
}

// paths appends the names of the variables within a value, in alphabetical order.
func (s *Shape) paths(before string, depth int, found []string) []string {
	if s == nil || depth > maxDepth {
		return found
	}
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		if len(found) >= maxPaths {
			break
		}
		found = append(found, before+name)
		found = s.Members[name].paths(before+name+".", depth+1, found)
	}
	return found
}
