package templates

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
)

// budget is what is left for all parts of one template.
type budget struct {
	room   int // bytes of the message
	steps  int
	unread int // bytes of Markdown
}

func newBudget() budget { return budget{room: MaxOutput, steps: MaxSteps, unread: MaxMarkdown} }

// renderer fills the parts of one template, one after the other.
type renderer struct {
	budget

	frames []any // the data, then what each section around a node speaks of
	syntax syntax
	out    strings.Builder
	values []marked    // of Markdown, each of which a mark stands for
	blank  func(*node) // is called for each variable without a value; nil: not at all
}

func (r *renderer) render(p part) (string, error) {
	r.out.Reset()
	r.out.Grow(p.length)
	r.syntax = p.syntax
	if failed := r.nodes(p.nodes); failed != nil {
		return "", failed.in(p.name)
	}
	return r.out.String(), nil
}

// nodes renders nodes until one fails.
func (r *renderer) nodes(nodes []node) *failure {
	for i := range nodes {
		if failed := r.node(&nodes[i]); failed != nil {
			return failed
		}
	}
	return nil
}

func (r *renderer) node(n *node) *failure {
	if r.steps--; r.steps < 0 {
		return fail(n, ErrTooLong)
	}
	switch n.kind {
	case literal:
		return r.verbatim(n, n.text)
	case island:
		return r.island(n)
	case document:
		return r.document(n)
	case section:
		return r.section(n, r.find(n.path))
	case inverted:
		if isFalse(r.find(n.path)) {
			return r.nodes(n.inner)
		}
		return nil
	default:
		return r.value(n, r.find(n.path))
	}
}

// readingSteps is what reading one piece of Markdown costs, however short it is.
const readingSteps = 100

// bytesPerStep is how many bytes of values in a piece of Markdown cost one step.
const bytesPerStep = 100

// island writes nodes in HTML into Markdown.
func (r *renderer) island(n *node) *failure {
	sub := r.within(inHTML)
	if failed := sub.nodes(n.inner); failed != nil {
		return failed
	}
	r.budget = sub.budget
	return r.markAs(n, marked{text: sub.out.String(), html: true})
}

// document writes nodes in Markdown into HTML.
func (r *renderer) document(n *node) *failure {
	if r.steps -= readingSteps; r.steps < 0 {
		return fail(n, ErrTooLong)
	}
	sub := r.within(inMarkdown)
	if failed := sub.nodes(n.inner); failed != nil {
		return failed
	}
	// What it leaves out of the HTML, as in a comment, has taken time, too.
	r.steps, r.unread = sub.steps-(r.room-sub.room)/bytesPerStep, sub.unread
	if r.steps < 0 {
		return fail(n, ErrTooLong)
	}
	html, err := sub.read(r.room)
	if err != nil {
		return fail(n, ErrTooLarge)
	}
	if n.text == oneLine {
		html = inline(html)
	}
	return r.write(n, html)
}

// inline removes the tags of a paragraph that stands alone.
func inline(html string) string {
	if text, alone := strings.CutPrefix(html, "<p>"); alone && strings.Count(html, "<p>") == 1 {
		if text, alone = strings.CutSuffix(text, "</p>\n"); alone {
			return text
		}
	}
	return html
}

// within returns a renderer for a piece in another syntax.
func (r *renderer) within(s syntax) *renderer {
	return &renderer{budget: r.budget, frames: r.frames, syntax: s, blank: r.blank}
}

// section renders what is in a section for each of the items of a list, or once for another value.
func (r *renderer) section(n *node, v any) *failure {
	switch list := v.(type) {
	case []any:
		for _, item := range list {
			if failed := r.item(n, item); failed != nil {
				return failed
			}
		}
		return nil
	case []string:
		for _, item := range list {
			if failed := r.item(n, item); failed != nil {
				return failed
			}
		}
		return nil
	}
	if isFalse(v) {
		return nil
	}
	return r.item(n, v)
}

func (r *renderer) item(n *node, v any) *failure {
	if r.steps--; r.steps < 0 {
		return fail(n, ErrTooLong)
	}
	r.frames = append(r.frames, v)
	failed := r.nodes(n.inner)
	r.frames = r.frames[:len(r.frames)-1]
	return failed
}

// find looks a name up: its first part in the innermost frame that has it, the others below that.
// nil when it is not there.
func (r *renderer) find(path []string) any {
	top := len(r.frames) - 1
	if len(path) == 0 {
		return r.frames[top]
	}
	v, found := any(nil), false
	for i := top; i >= 0 && !found; i-- {
		r.steps--
		v, found = member(r.frames[i], path[0])
	}
	for _, part := range path[1:] {
		r.steps--
		v, _ = member(v, part)
	}
	return v
}

// value writes a value as text: strings and numbers as they are, nothing for what is not there,
// JSON for maps and lists.
func (r *renderer) value(n *node, v any) *failure {
	var text string
	switch v := v.(type) {
	case nil:
		if r.blank != nil {
			r.blank(n)
		}
		if r.syntax != inMarkdown { // There, what is around a value must not depend on it.
			return nil
		}
	case string:
		text = v
	case json.Number:
		text = v.String()
	case bool:
		text = strconv.FormatBool(v)
	case int:
		text = strconv.Itoa(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any, map[string]string, []any, []string:
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return fail(n, ErrNotPlain)
		}
		text = strings.TrimSuffix(out.String(), "\n")
	default:
		return fail(n, ErrNotPlain.With("%s holds a value of the type %T", strings.Join(n.path, "."), v))
	}
	switch {
	case n.kind == raw || r.syntax == inText:
		return r.verbatim(n, text)
	case r.syntax == inMarkdown:
		return r.mark(n, text)
	default:
		return r.writeEscaped(n, text)
	}
}

// verbatim writes what is of the part's own syntax.
func (r *renderer) verbatim(n *node, s string) *failure {
	if r.syntax == inMarkdown {
		return r.writeMarkdown(n, s)
	}
	return r.write(n, s)
}

func (r *renderer) write(n *node, s string) *failure {
	if r.room -= len(s); r.room < 0 {
		return fail(n, ErrTooLarge)
	}
	r.out.WriteString(s)
	return nil
}

// writeEscaped escapes text for HTML, within an element as well as within a
// quoted attribute.
func (r *renderer) writeEscaped(n *node, s string) *failure {
	for {
		i := strings.IndexAny(s, `&<>"'`)
		if i < 0 {
			return r.write(n, s)
		}
		if failed := r.write(n, s[:i]); failed != nil {
			return failed
		}
		if failed := r.write(n, entities[s[i]]); failed != nil {
			return failed
		}
		s = s[i+1:]
	}
}

var entities = [...]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\'': "&#39;"}

// member returns a member of an object.
func member(v any, name string) (any, bool) {
	switch object := v.(type) {
	case map[string]any:
		inner, found := object[name]
		return inner, found
	case map[string]string:
		inner, found := object[name]
		return inner, found
	}
	return nil, false
}

// isFalse reports whether a section is not rendered for a value. As in the Mustache of JavaScript,
// whose templates people bring along, that includes the empty string; unlike there, 0 is a value
// like any other.
func isFalse(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case []string:
		return len(v) == 0
	}
	return false
}

// failure is why a part cannot be rendered, and where.
type failure struct {
	err *fault.Error
	at  *node
}

func (f *failure) in(part string) error {
	return f.err.With("%s, %s: %s", part, f.at.place(), f.err)
}

func fail(n *node, err *fault.Error) *failure { return &failure{err: err, at: n} }

// place is the line of a node.
func (n *node) place() string {
	if n.from == "" {
		return fmt.Sprintf("line %d", n.line)
	}
	return fmt.Sprintf("partial %s, line %d", quoted(n.from), n.line)
}
