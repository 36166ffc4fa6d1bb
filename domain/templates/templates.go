// Package templates turns the template of a message and the data of an occurrence into subject,
// text and HTML. Templates are logic-less, in Mustache syntax; they see plain data and nothing
// else: no methods, functions, files, environment, other templates. It does not know what the data
// mean or where the message goes.
//
// The syntax is that of the Mustache specification without its partials, lambdas and inheritance.
// The renderer is our own because cbroglie/mustache 1.4.2, the best kept of the libraries, cannot
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
)

// What may go wrong when a template is rendered. Errors of Render say more, and are one of these.
var (
	ErrTooLarge  = fault.New(fault.TooLarge, "the message is larger than 1 MiB")
	ErrTooLong   = fault.New(fault.Invalid, "the message takes too many steps")
	ErrNotPlain  = fault.New(fault.Invalid, "the data are not plain")
	ErrNotParsed = fault.New(fault.Invalid, "the template cannot be read")
)

// Template is the parsed template of a message. It may be rendered concurrently.
type Template struct {
	subject, text, html part
}

// part is one of the texts of a message.
type part struct {
	name   string
	nodes  []node
	length int  // of its source, which is about what it becomes
	escape bool // values are escaped as HTML wants it
}

// Parse reads the parts of a template. An empty part is left out of the message. The error names
// every part that cannot be read (`subject`, `text`, `html`), with the line and the reason.
func Parse(subject, text, html string) (*Template, error) {
	var faults fault.Fields
	read := func(name, source string, escape bool) part {
		nodes, err := parse(source)
		faults.Add(name, err)
		return part{name: name, nodes: nodes, length: len(source), escape: escape}
	}
	t := &Template{subject: read("subject", subject, false), text: read("text", text, false), html: read("html", html, true)}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Message is a rendered template.
type Message struct {
	Subject string // one line
	Text    string
	HTML    string
}

// Render fills the template. The data are maps, lists, strings, numbers and truth values, as JSON
// decodes to, and are not changed. A name that is not there is empty. In the HTML, values are
// escaped unless the template asks for them raw; in the subject and the text they never are. The
// error is one of this package's and names the part and the line. A template that has HTML and no
// text gets the text of its HTML, where both are within the limits.
func (t *Template) Render(data map[string]any) (m Message, err error) {
	r := renderer{room: MaxOutput, steps: MaxSteps, frames: []any{data}}
	if m.Subject, err = r.render(t.subject); err != nil {
		return Message{}, err
	}
	m.Subject = singleLine(m.Subject)
	if m.Text, err = r.render(t.text); err != nil {
		return Message{}, err
	}
	if m.HTML, err = r.render(t.html); err != nil {
		return Message{}, err
	}
	if len(t.text.nodes) == 0 && m.HTML != "" {
		m.Text = plain(m.HTML, r.room)
	}
	return m, nil
}

// maxBlanks is how many blanks are told.
const maxBlanks = 20

// Blanks names the variables that data has no value for and a message shows nothing for, each once
// by its part and first line. Sections are not among them: to have none is what an inverted section
// asks for. It returns at most 20.
func (t *Template) Blanks(data map[string]any) []string {
	var found []string
	for _, p := range []part{t.subject, t.text, t.html} {
		told := map[string]bool{}
		r := renderer{room: MaxOutput, steps: MaxSteps, frames: []any{data}}
		r.blank = func(n *node) {
			name := cmp.Or(strings.Join(n.path, "."), ".")
			if !told[name] && len(found) < maxBlanks {
				found = append(found, fmt.Sprintf("%s (%s, line %d)", name, p.name, n.line))
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
