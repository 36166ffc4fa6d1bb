package blueprint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// treeDecoder walks the tree of one file and records its mistakes.
type treeDecoder struct {
	file     string
	environ  []string
	mistakes Mistakes
	visited  int
}

func (d *treeDecoder) addMistake(n *yaml.Node, path, message string) {
	d.mistakes = append(d.mistakes, Mistake{File: d.file, Line: n.Line, Path: path, Message: message})
	if len(d.mistakes) >= 10*maxMistakes {
		d.visited = maxNodes // It also stops reading.
	}
}

// resolve counts a node, follows an alias, and reports whether there is a value: a null counts as
// missing. When there are too many nodes, it records one mistake, and returns no more values.
func (d *treeDecoder) resolve(path string, n *yaml.Node) (*yaml.Node, bool) {
	d.visited++
	if d.visited == maxNodes {
		d.addMistake(n, path, "aliases or members make the file larger than is allowed")
	}
	if d.visited >= maxNodes {
		return n, false
	}
	n = resolveAlias(n)
	return n, n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null"
}

// resolveAlias resolves an alias.
func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// field stores the value of a member.
type field func(place string, n *yaml.Node)

// object reads a mapping with these members.
func (d *treeDecoder) object(path string, n *yaml.Node, known map[string]field) {
	n, given := d.resolve(path, n)
	if !given {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.addMistake(n, path, "must be a mapping with the members "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		return
	}
	for _, p := range d.members(path, n) {
		name := p.key.Value
		read, ok := known[name]
		if !ok {
			d.addMistake(p.key, path, "unknown member "+quoted(name)+suggest(name, slices.Sorted(maps.Keys(known))))
			continue
		}
		read(joinPath(path, name), p.value)
	}
}

// sequence reads a sequence; it reads each element with one.
func sequence[T any](d *treeDecoder, to *[]T, one func(path string, n *yaml.Node) T) field {
	return func(path string, n *yaml.Node) {
		n, given := d.resolve(path, n)
		if !given {
			return
		}
		if n.Kind != yaml.SequenceNode {
			d.addMistake(n, path, "must be a sequence")
			return
		}
		for i, element := range n.Content {
			*to = append(*to, one(path+"["+strconv.Itoa(i)+"]", element))
		}
	}
}

// textElement reads a text as an element of a sequence.
func (d *treeDecoder) textElement(path string, n *yaml.Node) (s string) {
	d.text(&s)(path, n)
	return s
}

// text reads a text without surrounding space.
func (d *treeDecoder) text(to *string) field {
	return func(path string, n *yaml.Node) {
		d.verbatim(to)(path, n)
		*to = strings.TrimSpace(*to)
	}
}

// verbatim reads a text unchanged.
func (d *treeDecoder) verbatim(to *string) field {
	return func(path string, n *yaml.Node) {
		n, given := d.resolve(path, n)
		switch {
		case !given:
		case n.Kind != yaml.ScalarNode:
			d.addMistake(n, path, "must be a text")
		case n.ShortTag() != "!!str":
			d.addMistake(n, path, "must be a text: put quotes around it")
		default:
			*to = n.Value
		}
	}
}

// boolean reads true or false.
func (d *treeDecoder) boolean(to *bool) field {
	return func(path string, n *yaml.Node) {
		n, given := d.resolve(path, n)
		switch {
		case !given:
		case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool":
			d.addMistake(n, path, "must be true or false")
		default:
			if err := n.Decode(to); err != nil { // Another value with the tag !!bool.
				d.addMistake(n, path, "must be true or false")
			}
		}
	}
}

// integer reads a whole number.
func (d *treeDecoder) integer(to *int) field {
	return func(path string, n *yaml.Node) {
		n, given := d.resolve(path, n)
		if given && (n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(to) != nil) {
			d.addMistake(n, path, "must be a whole number")
		}
	}
}

// optionalBoolean reads true or false; it stays nil when it is absent.
func (d *treeDecoder) optionalBoolean(to **bool) field {
	return func(path string, n *yaml.Node) {
		if _, given := d.resolve(path, n); given {
			*to = new(bool)
			d.boolean(*to)(path, n)
		}
	}
}

// optionalText reads a text; it stays nil when it is absent.
func (d *treeDecoder) optionalText(to **string) field {
	return func(path string, n *yaml.Node) {
		if _, given := d.resolve(path, n); given {
			*to = new(string)
			d.text(*to)(path, n)
		}
	}
}

// optionalTexts reads a sequence of texts; it stays nil when it is absent.
func (d *treeDecoder) optionalTexts(to **[]string) field {
	return func(path string, n *yaml.Node) {
		if _, given := d.resolve(path, n); given {
			*to = new([]string)
			sequence(d, *to, d.textElement)(path, n)
		}
	}
}

// members returns the members of a mapping and records mistakes in its keys.
func (d *treeDecoder) members(path string, n *yaml.Node) []pair {
	pairs, wrong := members(n)
	for _, w := range wrong {
		d.addMistake(w.node, path, w.message)
	}
	d.visited += len(pairs)
	return pairs
}

// pair is a member of a mapping.
type pair struct{ key, value *yaml.Node }

type wrongKey struct {
	node    *yaml.Node
	message string
}

// members returns the members of a mapping: its own, then those of merge keys (<<) that it does not
// have itself.
func members(n *yaml.Node) (found []pair, wrong []wrongKey) {
	own := map[string]bool{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			wrong = append(wrong, wrongKey{key, "the name of a member must be a text"})
		case own[key.Value]:
			wrong = append(wrong, wrongKey{key, "the member " + quoted(key.Value) + " appears twice"})
		case !utf8.ValidString(key.Value) || strings.ContainsRune(key.Value, 0):
			wrong = append(wrong, wrongKey{key, "the name of a member contains a NUL character or is not UTF-8"})
		default:
			own[key.Value] = true
			found = append(found, pair{key, value})
		}
	}
	for _, m := range merged {
		for _, from := range mergeSources(m) {
			if from.Kind != yaml.MappingNode {
				wrong = append(wrong, wrongKey{m, "<< must name a mapping, or a sequence of them"})
				continue
			}
			for i := 0; i+1 < len(from.Content); i += 2 {
				key := from.Content[i]
				switch {
				case key.Kind != yaml.ScalarNode: // Reported where the merged mapping is read itself.
				case key.ShortTag() == "!!merge":
					wrong = append(wrong, wrongKey{m, "<< must not name a mapping that has a << itself"})
				case !own[key.Value]:
					own[key.Value] = true
					found = append(found, pair{key, from.Content[i+1]})
				}
			}
		}
	}
	return found, wrong
}

func mergeSources(n *yaml.Node) []*yaml.Node {
	n = resolveAlias(n)
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	seen := map[*yaml.Node]bool{}
	var all []*yaml.Node
	for _, element := range n.Content {
		if element = resolveAlias(element); !seen[element] {
			seen[element] = true
			all = append(all, element)
		}
	}
	return all
}

// quoted quotes a name for a sentence.
func quoted(name string) string { return fmt.Sprintf("%.50q", name) }

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
