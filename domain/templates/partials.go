package templates

import (
	"maps"
	"slices"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/names"
)

// Limits of what a template includes.
const (
	MaxInclusion = 8      // partials in partials
	MaxFills     = 100    // blocks that a template fills in one layout
	maxNodes     = 20_000 // pieces of a template together with its partials

	maxKept       = 1 << 20 // bytes of partials that a Parser keeps parsed
	bytesPerPiece = 32      // bytes of source that are as much work as one piece
)

// Partial is a piece of templates that has a name: `{{> name}}` includes it. It is a layout where a
// template fills its blocks, `{{$ block}}…{{/ block}}`, as in `{{< name}}{{$ block}}…{{/ block}}
// {{/ name}}`. Subjects and texts get its text, HTML and Markdown its HTML.
type Partial struct{ Text, HTML string }

// Partials are the partials that a template may use, by name.
type Partials map[string]Partial

// Uses returns the names of the partials that a template names itself, in alphabetical order. The
// error names every part that cannot be read, as that of Parse.
func Uses(of Source) ([]string, error) {
	var faults fault.Fields
	all := map[string]bool{}
	for _, p := range []struct{ name, source string }{{"subject", of.Subject}, {"text", of.Text}, {"html", of.HTML}, {"markdown", of.Markdown}} {
		_, uses, err := parse(p.source)
		faults.Add(p.name, err)
		maps.Copy(all, uses)
	}
	if of.HTML != "" && of.Markdown != "" {
		faults.Addf("markdown", "the body is either HTML or Markdown")
	}
	return slices.Sorted(maps.Keys(all)), faults.Err()
}

// Parser reads templates that use the same partials, and parses each partial once for all of them.
type Parser struct {
	partials Partials
	parsed   map[bodyKey][]node
	kept     int // bytes of what is parsed
	work     int
}

// NewParser returns a parser of templates that use these partials.
func NewParser(partials Partials) *Parser {
	return &Parser{partials: partials, parsed: map[bodyKey][]node{}}
}

// Parse is ParseWith.
func (r *Parser) Parse(of Source) (*Template, error) { return r.parseAs("", of) }

// CheckPartial returns an error if the partial of this name cannot be parsed, includes itself, or
// includes a partial that does not exist.
func (r *Parser) CheckPartial(name string) error {
	is := r.partials[name]
	_, err := r.parseAs(name, Source{Text: is.Text, HTML: is.HTML})
	return err
}

// Work returns the work so far, in pieces of templates: all that were read, those of a partial once
// for each use, and some more for long texts. A piece takes about half a microsecond.
func (r *Parser) Work() int { return r.work }

func (r *Parser) parse(source string) (nodes []node, uses map[string]bool, err error) {
	r.work += len(source) / bytesPerPiece
	return parse(source)
}

// expander puts partials into the nodes of one template.
type expander struct {
	*Parser

	counted int
}

// bodyKey names a body of a partial.
type bodyKey struct {
	name   string
	syntax syntax
}

// scope is the partial or template to which nodes belong, and what fills its blocks.
type scope struct {
	partial string   // empty: the template
	stack   []string // the partials around
	syntax  syntax
	fills   *fills
	blocks  map[string]bool // the blocks that there are
}

// fills are what a template, or a partial, puts into the blocks of its layout.
type fills struct {
	own    map[string][]node
	writer *scope
	before *fills // what fills the writer itself, which comes first
}

// of returns the nodes that fill a block, and the scope in which they are written; a nil scope:
// nothing fills the block.
func (f *fills) of(name string) (nodes []node, writer *scope) {
	if f == nil {
		return nil, nil
	}
	if nodes, writer = f.before.of(name); writer != nil {
		return nodes, writer
	}
	if nodes, filled := f.own[name]; filled {
		return nodes, f.writer
	}
	return nil, nil
}

// top puts the partials into the nodes of a template, or of the partial of this name.
func (e *expander) top(name string, nodes []node, written syntax) ([]node, error) {
	s := &scope{syntax: written, blocks: map[string]bool{}}
	if name != "" {
		s.stack = []string{name}
	}
	return e.nodes(nodes, s, 0)
}

func (e *expander) nodes(nodes []node, s *scope, depth int) ([]node, error) {
	all := make([]node, 0, len(nodes))
	for _, n := range nodes {
		n.from = s.partial
		err := e.count(n, 1)
		if err != nil {
			return nil, err
		}
		switch n.kind {
		case include:
			all, err = e.include(all, n, s, depth)
		case parent:
			all, err = e.layout(all, n, s, depth)
		case block:
			all, err = e.block(all, n, s, depth)
		case section, inverted:
			if depth >= MaxNesting {
				return nil, n.mistake("sections are nested deeper than %d", MaxNesting)
			}
			n.inner, err = e.nodes(n.inner, s, depth+1)
			all = append(all, n)
		default:
			all = append(all, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// count refuses a template whose pieces are too many together with the pieces at a node.
func (e *expander) count(at node, pieces int) error {
	if e.counted += pieces; e.counted > maxNodes {
		return at.mistake("the template is too large with its partials")
	}
	return nil
}

// include appends the nodes of a partial.
func (e *expander) include(all []node, n node, s *scope, depth int) ([]node, error) {
	inner, err := e.open(n, s, nil)
	if err != nil {
		return nil, err
	}
	return e.append(all, n, s, inner, depth)
}

// layout appends the nodes of a partial whose blocks are filled.
func (e *expander) layout(all []node, n node, s *scope, depth int) ([]node, error) {
	if err := e.count(n, len(n.inner)); err != nil {
		return nil, err
	}
	own := make(map[string][]node, len(n.inner))
	for _, b := range n.inner {
		own[b.text] = b.inner
	}
	inner, err := e.open(n, s, &fills{own: own, writer: s, before: s.fills})
	if err != nil {
		return nil, err
	}
	if all, err = e.append(all, n, s, inner, depth); err != nil {
		return nil, err
	}
	for _, b := range n.inner {
		if !inner.blocks[b.text] {
			return nil, n.mistake("partial %s has no block %s%s", quoted(n.text), quoted(b.text), meant(b.text, inner.blocks))
		}
	}
	maps.Copy(s.blocks, inner.blocks)
	return all, nil
}

// oneLine says of Markdown that it was written within a line: it is no paragraph, as in a title.
const oneLine = "one line"

// block appends what fills a block, or its own nodes.
func (e *expander) block(all []node, n node, s *scope, depth int) ([]node, error) {
	s.blocks[n.text] = true
	within, writer := s.fills.of(n.text)
	if writer == nil {
		within, writer = n.inner, s
	}
	nodes, err := e.nodes(within, writer, depth)
	if err != nil {
		return nil, err
	}
	if s.syntax == inHTML && writer.syntax == inMarkdown {
		piece := node{kind: document, line: n.line, from: n.from, inner: nodes}
		if !slices.ContainsFunc(within, func(n node) bool { return n.kind == literal && strings.Contains(n.text, "\n") }) {
			piece.text = oneLine
		}
		return append(all, piece), nil
	}
	return append(all, nodes...), nil
}

// open is the scope of a partial that a node names.
func (e *expander) open(n node, s *scope, filled *fills) (*scope, error) {
	if _, known := e.partials[n.text]; !known {
		return nil, n.mistake("there is no partial %s%s", quoted(n.text), meant(n.text, e.partials))
	}
	stack := append(slices.Clone(s.stack), n.text)
	if slices.Contains(s.stack, n.text) {
		return nil, n.mistake("partial %s includes itself: %s", quoted(n.text), strings.Join(stack, " → "))
	}
	if len(stack) > MaxInclusion {
		return nil, n.mistake("partials include each other deeper than %d: %s", MaxInclusion, strings.Join(stack, " → "))
	}
	inner := &scope{partial: n.text, stack: stack, syntax: s.syntax, fills: filled, blocks: map[string]bool{}}
	if s.syntax == inMarkdown {
		inner.syntax = inHTML
	}
	return inner, nil
}

// append appends the nodes of the partial that is open.
func (e *expander) append(all []node, n node, s, inner *scope, depth int) ([]node, error) {
	nodes, err := e.body(n, inner)
	if err != nil {
		return nil, err
	}
	if nodes, err = e.nodes(nodes, inner, depth); err != nil {
		return nil, err
	}
	if s.syntax == inMarkdown {
		return append(all, node{kind: island, line: n.line, from: n.from, inner: nodes}), nil
	}
	return append(all, nodes...), nil
}

// body reads the body of a partial, or finds it parsed. The end of its last line is not part of it.
func (e *expander) body(n node, s *scope) ([]node, error) {
	key := bodyKey{s.partial, s.syntax}
	if nodes, known := e.parsed[key]; known {
		return nodes, nil
	}
	written, what := e.partials[s.partial].Text, "text"
	if s.syntax == inHTML {
		written, what = e.partials[s.partial].HTML, "HTML"
	}
	if written == "" {
		return nil, n.mistake("partial %s has no %s", quoted(s.partial), what)
	}
	nodes, _, err := e.parse(strings.TrimSuffix(strings.TrimSuffix(written, "\n"), "\r"))
	if err != nil {
		return nil, ErrNotParsed.With("partial %s, %s", quoted(s.partial), err)
	}
	if e.kept += len(written); e.kept > maxKept {
		clear(e.parsed)
		e.kept = len(written)
	}
	e.parsed[key] = nodes
	return nodes, nil
}

// meant returns the end of a sentence about an unknown name: the known name that was probably
// meant.
func meant[V any](name string, known map[string]V) string {
	if nearest, ok := names.Nearest(name, slices.Sorted(maps.Keys(known))); ok {
		return ", did you mean " + quoted(nearest) + "?"
	}
	return ""
}

func (n *node) mistake(format string, args ...any) error {
	m := mistake(n.line, format, args...)
	if n.from != "" {
		return ErrNotParsed.With("partial %s, %s", quoted(n.from), m)
	}
	return m
}
