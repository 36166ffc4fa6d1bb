// Package templates turns the template of a message and the data of an occurrence into subject,
// text and HTML, which may be written as Markdown. Templates are logic-less, in Mustache syntax;
// they see plain data and the partials that they are given, and nothing else: no methods,
// functions, files, environment. It does not know what the data mean or where the message goes.
//
// The syntax is that of the Mustache specification with its partials and inheritance, without
// dynamic names and lambdas. Unlike there, the lines of a partial are not indented. The
// renderer is our own because cbroglie/mustache 1.4.2, the best maintained of the libraries, cannot
// be held to the promises above: it calls methods and functions that it finds in the data, reads
// partials from the working directory, prints a missing value of the data as <nil>, swallows panics
// with a line on standard output, and runs a section in a section in a section over the same long
// list for as long as that takes.
package templates

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/fault"
)

// Limits. A template that would break them is refused when it is parsed, or fails when it is
// rendered.
const (
	MaxOutput  = 1 << 20 // bytes of subject, text and HTML together
	MaxSteps   = 500_000 // tags, texts and names looked at for one message
	MaxNesting = 32      // sections in sections
	MaxName    = 200     // bytes of a name
	MaxSubject = 1_000   // characters; what is longer is cut

	// MaxMarkdown is how many bytes Markdown may have when its sections are filled, without its
	// values. The Markdown parser takes quadratic time for some texts: 0.4 s for the worst one of
	// 32 KiB, more than 20 s for that of 256 KiB. It uses at most 90 MB of memory.
	MaxMarkdown = 32 << 10
)

// Errors of rendering. Render returns one of them with details.
var (
	ErrTooLarge  = fault.New(fault.TooLarge, "the message is larger than 1 MiB")
	ErrTooMuch   = fault.New(fault.TooLarge, "the Markdown is larger than 32 KiB")
	ErrTooLong   = fault.New(fault.Invalid, "the message takes too many steps")
	ErrNotPlain  = fault.New(fault.Invalid, "the data are not plain")
	ErrNotParsed = fault.New(fault.Invalid, "the template cannot be read")
)

// Template is the parsed template of a message. It may be rendered concurrently.
type Template struct {
	subject, text, html, markdown part
}

// Source is the template of a message as it is written. Its body has a text, and HTML or Markdown.
type Source struct {
	Subject, Text, HTML, Markdown string
}

// part is one of the texts of a message.
type part struct {
	name   string
	nodes  []node
	length int // of its source, which is about what it becomes
	syntax syntax
}

// syntax says what a part is written in, and so how its values are escaped.
type syntax uint8

const (
	inText syntax = iota
	inHTML
	inMarkdown
)

// Parse reads the parts of a template. An empty part is left out of the message. The error names
// every part that cannot be read (`subject`, `text`, `html`, `markdown`), with the line and the
// reason.
func Parse(of Source) (*Template, error) { return ParseWith(of, nil) }

// ParseWith is Parse of a template that uses partials of these.
func ParseWith(of Source, partials Partials) (*Template, error) {
	return NewParser(partials).Parse(of)
}

// parseAs reads the parts of a template, or of the partial of this name.
func (r *Parser) parseAs(name string, of Source) (*Template, error) {
	var faults fault.Fields
	e := expander{Parser: r}
	defer func() { r.work += e.counted }()
	read := func(place, source string, written syntax) part {
		nodes, uses, err := r.parse(source)
		if err == nil && uses != nil {
			nodes, err = e.top(name, nodes, written)
		}
		faults.Add(place, err)
		return part{name: place, nodes: nodes, length: len(source), syntax: written}
	}
	t := &Template{subject: read("subject", of.Subject, inText), text: read("text", of.Text, inText),
		html: read("html", of.HTML, inHTML), markdown: read("markdown", of.Markdown, inMarkdown)}
	if of.HTML != "" && of.Markdown != "" {
		faults.Addf("markdown", "the body is either HTML or Markdown")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Memory estimates how many bytes the template takes.
func (t *Template) Memory() (n int) {
	for _, p := range t.parts() {
		n += p.length + memoryOf(p.nodes)
	}
	return n
}

// nodeMemory is how many bytes a node takes beside its text.
const nodeMemory = 112

func memoryOf(nodes []node) (n int) {
	for _, one := range nodes {
		n += nodeMemory + len(one.text) + 16*len(one.path) + memoryOf(one.inner)
	}
	return n
}

func (t *Template) parts() []part { return []part{t.subject, t.text, t.html, t.markdown} }

// Message is a rendered template.
type Message struct {
	Subject string // one line
	Text    string
	HTML    string
}

// Render fills the template, its partials with it. The data are maps, lists, strings, numbers and
// booleans, as decoded from JSON, and are not changed. A missing variable is rendered empty. In the
// HTML, values are escaped unless the template asks for them raw; in the subject and the text they
// never are. In Markdown they are text as well: no value becomes an element, unless the template
// asks for it raw; HTML within Markdown is left out. The error is one of this package's and names
// the part and the line. A template that has no text gets that of its HTML, where both are within
// the limits.
func (t *Template) Render(data map[string]any) (m Message, err error) {
	r := renderer{budget: newBudget(), frames: []any{data}}
	if m.Subject, err = r.render(t.subject); err != nil {
		return Message{}, err
	}
	m.Subject = singleLine(m.Subject)
	if m.Text, err = r.render(t.text); err != nil {
		return Message{}, err
	}
	if len(t.markdown.nodes) > 0 {
		m.HTML, err = r.markdown(t.markdown)
	} else {
		m.HTML, err = r.render(t.html)
	}
	if err != nil {
		return Message{}, err
	}
	if len(t.text.nodes) == 0 && m.HTML != "" {
		m.Text = plain(m.HTML, r.room)
	}
	return m, nil
}

// maxBlanks is how many blanks are reported.
const maxBlanks = 20

// MissingVariables returns the variables that have no value in data, each once with its part and
// first line, at most 20. It does not report sections, because an inverted section may need a
// missing value.
func (t *Template) MissingVariables(data map[string]any) []string {
	var found []string
	for _, p := range t.parts() {
		told := map[string]bool{}
		r := renderer{budget: newBudget(), frames: []any{data}}
		r.blank = func(n *node) {
			name := cmp.Or(strings.Join(n.path, "."), ".")
			if !told[name] && len(found) < maxBlanks {
				found = append(found, fmt.Sprintf("%s (%s, %s)", name, p.name, n.place()))
			}
			told[name] = true
		}
		if _, err := r.render(p); err != nil {
			return found // Render says what is wrong.
		}
	}
	return found
}

// singleLine makes one line of a subject: what breaks lines or cannot be seen becomes a space, runs
// of spaces become one.
func singleLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if utf8.RuneCountInString(s) <= MaxSubject {
		return s
	}
	return string([]rune(s)[:MaxSubject-1]) + "…"
}
