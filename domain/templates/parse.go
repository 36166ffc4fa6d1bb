package templates

import (
	"fmt"
	"slices"
	"strings"
)

// kind says what becomes of a node.
type kind uint8

const (
	literal  kind = iota // text, as it stands
	escaped              // a value, escaped where the part is HTML
	raw                  // a value, never escaped
	section              // its nodes, for every item of a list or once for another value that is not false
	inverted             // its nodes, for a value that is false or an empty list
	include              // a partial
	parent               // a partial as a layout; its nodes are the blocks that it is filled with
	block                // its nodes, unless the template fills it with others
	island               // its nodes as HTML, in Markdown
	document             // its nodes as Markdown, in HTML
)

// node is a piece of a template.
type node struct {
	kind  kind
	line  int
	from  string   // the partial that line is of; empty: the template
	text  string   // of a literal; the name of a partial or a block
	path  []string // of a name, split at its dots; empty: the item itself
	inner []node   // of a section
}

// parser reads a template once, from front to back. What it does per tag does not depend on where
// in a line the tag is: a line of many thousand tags takes no longer than as many lines.
type parser struct {
	source      string
	at          int    // of what is to be read next
	line        int    // of at
	blank       bool   // whether all of the line before at is white space
	left, right string // the delimiters
	open        []opened
	uses        map[string]bool // the partials; nil: neither partials nor blocks
}

// opened is a section whose end has not come yet, and what it has so far. The first is the template
// itself.
type opened struct {
	name  string
	node  node
	nodes []node
}

// parse returns the nodes of a source and the partials that it names; nil: it has neither partials
// nor blocks.
func parse(source string) (nodes []node, uses map[string]bool, err error) {
	p := &parser{source: source, line: 1, blank: true, left: "{{", right: "}}", open: []opened{{}}}
	for p.at < len(source) {
		length := strings.Index(source[p.at:], p.left)
		if length < 0 {
			p.add(node{line: p.line, text: source[p.at:]})
			break
		}
		text, line := source[p.at:p.at+length], p.line
		p.skip(length)
		if err := p.tag(node{line: line, text: text}); err != nil {
			return nil, nil, err
		}
	}
	if last := p.open[len(p.open)-1]; len(p.open) > 1 {
		return nil, nil, mistake(last.node.line, "section %s is never closed", quoted(last.name))
	}
	return p.open[0].nodes, p.uses, nil
}

// tag reads the tag that begins here; before is the text that it follows.
func (p *parser) tag(before node) error {
	line, blank := p.line, p.blank
	content, mark, err := p.content()
	if err != nil {
		return err
	}
	// A tag that renders nothing itself is removed with its line if it is alone on the line.
	if after, ends := endOfLine(p.source[p.at:]); blank && ends && p.showsNothing(mark) {
		before.text = strings.TrimRight(before.text, " \t")
		p.skip(after)
		p.blank = true
	}
	p.add(before)
	switch mark {
	case '!':
		return nil
	case '=':
		return p.delimit(line, content)
	}
	path, err := split(line, content)
	if err != nil {
		return err
	}
	switch mark {
	case '#':
		return p.begin(content, node{kind: section, line: line, path: path})
	case '^':
		return p.begin(content, node{kind: inverted, line: line, path: path})
	case '<':
		p.use(content)
		return p.begin(content, node{kind: parent, line: line, text: content})
	case '$':
		p.use("")
		return p.begin(content, node{kind: block, line: line, text: content})
	case '>':
		p.use(content)
		p.add(node{kind: include, line: line, text: content})
	case '/':
		return p.close(line, content)
	case '{', '&':
		p.add(node{kind: raw, line: line, path: path})
	default:
		p.add(node{kind: escaped, line: line, path: path})
	}
	return nil
}

// showsNothing reports whether the tag of this mark, which was read just now, stands for nothing
// itself. A partial and a layout stand for lines.
func (p *parser) showsNothing(mark byte) bool {
	if mark == '/' {
		return p.open[len(p.open)-1].node.kind != parent
	}
	return strings.IndexByte("#^$!=", mark) >= 0
}

// use takes note of a partial; of none for a block.
func (p *parser) use(name string) {
	if p.uses == nil {
		p.uses = map[string]bool{}
	}
	if name != "" {
		p.uses[name] = true
	}
}

// begin opens a section, a block or a layout.
func (p *parser) begin(name string, n node) error {
	if len(p.open) > MaxNesting {
		return mistake(n.line, "sections are nested deeper than %d", MaxNesting)
	}
	p.open = append(p.open, opened{name: name, node: n})
	return nil
}

// content returns what is between the delimiters, without white space around it and the mark in
// front, which is 0 for a plain name. The tag is read then.
func (p *parser) content() (content string, mark byte, err error) {
	rest := p.source[p.at+len(p.left):]
	if spaced := strings.TrimLeft(rest, " \t\r\n"); spaced != "" && strings.IndexByte("#^/!&><$", spaced[0]) >= 0 {
		rest = spaced // People write {{ #section }}, too.
	}
	if rest != "" && strings.IndexByte("#^/!={&><$", rest[0]) >= 0 {
		mark, rest = rest[0], rest[1:]
	}
	end := p.right
	switch mark {
	case '{':
		end = "}" + end
	case '=':
		end = "=" + end
	}
	length := strings.Index(rest, end)
	if length < 0 {
		return "", 0, mistake(p.line, "a tag is not closed with %s", quoted(end))
	}
	p.skip(len(p.source) - p.at - len(rest) + length + len(end))
	p.blank = false
	return strings.TrimSpace(rest[:length]), mark, nil
}

// delimit changes the delimiters.
func (p *parser) delimit(line int, content string) error {
	words := strings.Fields(content)
	if len(words) != 2 || strings.Contains(content, "=") || len(content) > MaxName {
		return mistake(line, "%s does not name two delimiters", quoted(content))
	}
	p.left, p.right = words[0], words[1]
	return nil
}

// close ends the innermost section.
func (p *parser) close(line int, name string) error {
	last := p.open[len(p.open)-1]
	if len(p.open) == 1 {
		return mistake(line, "section %s is closed but was not opened", quoted(name))
	}
	if last.name != name {
		return mistake(line, "section %s is closed while %s of line %d is open", quoted(name), quoted(last.name), last.node.line)
	}
	last.node.inner = last.nodes
	if last.node.kind == parent {
		var err error
		if last.node.inner, err = blocksOf(last); err != nil {
			return err
		}
	}
	p.open = p.open[:len(p.open)-1]
	p.add(last.node)
	return nil
}

// blocksOf returns the blocks that are filled in a layout. It refuses other content, except white
// space.
func blocksOf(layout opened) ([]node, error) {
	var blocks []node
	seen := map[string]bool{}
	for _, n := range layout.nodes {
		switch {
		case n.kind == literal && strings.TrimSpace(n.text) == "":
		case n.kind != block:
			return nil, mistake(n.line, "what is in a layout belongs into one of its blocks: {{$ name}}…{{/ name}}")
		case seen[n.text]:
			return nil, mistake(n.line, "block %s is filled twice", quoted(n.text))
		case len(blocks) == MaxFills:
			return nil, mistake(n.line, "more than %d blocks of layout %s are filled", MaxFills, quoted(layout.name))
		default:
			seen[n.text] = true
			blocks = append(blocks, n)
		}
	}
	return blocks, nil
}

// add appends a node to the innermost section.
func (p *parser) add(n node) {
	if n.kind == literal && n.text == "" {
		return
	}
	last := &p.open[len(p.open)-1]
	last.nodes = append(last.nodes, n)
}

// skip moves forward by some bytes and counts lines.
func (p *parser) skip(length int) {
	text := p.source[p.at : p.at+length]
	p.at += length
	if breaks := strings.Count(text, "\n"); breaks > 0 {
		p.line += breaks
		p.blank = true
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.blank = p.blank && strings.Trim(text, " \t") == ""
}

// endOfLine reports whether nothing but white space comes before the next line, and how far away
// that is.
func endOfLine(rest string) (length int, ends bool) {
	trimmed := strings.TrimLeft(rest, " \t")
	length = len(rest) - len(trimmed)
	switch {
	case trimmed == "":
		return length, true
	case trimmed[0] == '\n':
		return length + 1, true
	case strings.HasPrefix(trimmed, "\r\n"):
		return length + 2, true
	}
	return 0, false
}

// split checks a name and takes it apart; the path of the item itself is empty.
func split(line int, name string) ([]string, error) {
	switch {
	case name == "":
		return nil, mistake(line, "a tag has no name")
	case len(name) > MaxName:
		return nil, mistake(line, "%s is longer than %d bytes", quoted(name), MaxName)
	case strings.ContainsAny(name, " \t\r\n"):
		return nil, mistake(line, "%s is not a name: names have no spaces", quoted(name))
	case name == ".":
		return nil, nil
	}
	path := strings.Split(name, ".")
	if slices.Contains(path, "") {
		return nil, mistake(line, "%s has an empty part", quoted(name))
	}
	return path, nil
}

func mistake(line int, format string, args ...any) error {
	return ErrNotParsed.With("line %d: %s", line, fmt.Sprintf(format, args...))
}

// quoted shows a piece of a template in an error, cut when it is long.
func quoted(s string) string {
	const longest = 60
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
