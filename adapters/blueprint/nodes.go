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

// decoding walks the tree of one file and records its mistakes.
type decoding struct {
	file     string
	environ  []string
	mistakes Mistakes
	visited  int
}

func (d *decoding) blame(n *yaml.Node, place, message string) {
	d.mistakes = append(d.mistakes, Mistake{File: d.file, Line: n.Line, Path: place, Message: message})
	if len(d.mistakes) >= 10*maxMistakes {
		d.visited = maxNodes // Nothing more is read either.
	}
}

// enter counts a node, follows it if it is an alias, and reports whether there is a value to read:
// a null counts as missing. Once the limit is exceeded, which is reported once, nothing more is
// read.
func (d *decoding) enter(place string, n *yaml.Node) (*yaml.Node, bool) {
	d.visited++
	if d.visited == maxNodes {
		d.blame(n, place, "aliases or members make the file larger than is allowed")
	}
	if d.visited >= maxNodes {
		return n, false
	}
	n = target(n)
	return n, n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null"
}

// target resolves an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// field stores the value of a member.
type field func(place string, n *yaml.Node)

// object reads a mapping with these members.
func (d *decoding) object(place string, n *yaml.Node, known map[string]field) {
	n, given := d.enter(place, n)
	if !given {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.blame(n, place, "must be a mapping with the members "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		return
	}
	for _, p := range d.members(place, n) {
		name := p.key.Value
		read, ok := known[name]
		if !ok {
			d.blame(p.key, place, "unknown member "+quoted(name)+suggest(name, slices.Sorted(maps.Keys(known))))
			continue
		}
		read(below(place, name), p.value)
	}
}

// sequence reads a sequence, each element with one.
func sequence[T any](d *decoding, to *[]T, one func(place string, n *yaml.Node) T) field {
	return func(place string, n *yaml.Node) {
		n, given := d.enter(place, n)
		if !given {
			return
		}
		if n.Kind != yaml.SequenceNode {
			d.blame(n, place, "must be a sequence")
			return
		}
		for i, element := range n.Content {
			*to = append(*to, one(place+"["+strconv.Itoa(i)+"]", element))
		}
	}
}

// word reads a text as an element of a sequence.
func (d *decoding) word(place string, n *yaml.Node) (s string) {
	d.text(&s)(place, n)
	return s
}

// text reads a text without surrounding space.
func (d *decoding) text(to *string) field {
	return func(place string, n *yaml.Node) {
		d.verbatim(to)(place, n)
		*to = strings.TrimSpace(*to)
	}
}

// verbatim reads a text unchanged.
func (d *decoding) verbatim(to *string) field {
	return func(place string, n *yaml.Node) {
		n, given := d.enter(place, n)
		switch {
		case !given:
		case n.Kind != yaml.ScalarNode:
			d.blame(n, place, "must be a text")
		case n.ShortTag() != "!!str":
			d.blame(n, place, "must be a text: put quotes around it")
		default:
			*to = n.Value
		}
	}
}

// truth reads true or false.
func (d *decoding) truth(to *bool) field {
	return func(place string, n *yaml.Node) {
		n, given := d.enter(place, n)
		switch {
		case !given:
		case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool":
			d.blame(n, place, "must be true or false")
		default:
			if err := n.Decode(to); err != nil { // Another value with the tag !!bool.
				d.blame(n, place, "must be true or false")
			}
		}
	}
}

// integer reads a whole number.
func (d *decoding) integer(to *int) field {
	return func(place string, n *yaml.Node) {
		n, given := d.enter(place, n)
		if given && (n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(to) != nil) {
			d.blame(n, place, "must be a whole number")
		}
	}
}

// decision reads true or false; it stays nil when it is absent.
func (d *decoding) decision(to **bool) field {
	return func(place string, n *yaml.Node) {
		if _, given := d.enter(place, n); given {
			*to = new(bool)
			d.truth(*to)(place, n)
		}
	}
}

// optional reads a text; it stays nil when it is absent.
func (d *decoding) optional(to **string) field {
	return func(place string, n *yaml.Node) {
		if _, given := d.enter(place, n); given {
			*to = new(string)
			d.text(*to)(place, n)
		}
	}
}

// words reads a sequence of texts; it stays nil when it is absent.
func (d *decoding) words(to **[]string) field {
	return func(place string, n *yaml.Node) {
		if _, given := d.enter(place, n); given {
			*to = new([]string)
			sequence(d, *to, d.word)(place, n)
		}
	}
}

// members returns the members of a mapping and records mistakes in its keys.
func (d *decoding) members(place string, n *yaml.Node) []pair {
	pairs, wrong := members(n)
	for _, w := range wrong {
		d.blame(w.node, place, w.message)
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
	n = target(n)
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	seen := map[*yaml.Node]bool{}
	var all []*yaml.Node
	for _, element := range n.Content {
		if element = target(element); !seen[element] {
			seen[element] = true
			all = append(all, element)
		}
	}
	return all
}

// quoted quotes a name for a sentence.
func quoted(name string) string { return fmt.Sprintf("%.50q", name) }

func below(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}
