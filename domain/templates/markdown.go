package templates

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	commonmark "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Before Markdown is parsed, each value in it is replaced by a placeholder: its mark, which is one
// rune that the parser treats like a letter. So a value can be nothing but text. Marks are from a
// plane of Unicode that has no characters; a rune of that plane in a text gets a mark of its own.
const (
	firstMark = '\U000F0000'
	maxMarks  = 0xFFFE
	markByte  = 0xF3 // the first byte of each mark
)

// writeMarkdown writes Markdown that is read as such.
func (r *renderer) writeMarkdown(n *node, s string) *failure {
	for {
		i := strings.IndexByte(s, markByte)
		if i < 0 {
			return r.source(n, s)
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		if failed := r.source(n, s[:i]); failed != nil {
			return failed
		}
		if failed := r.mark(n, s[i:i+size]); failed != nil {
			return failed
		}
		s = s[i+size:]
	}
}

// marked is what a mark stands for.
type marked struct {
	text string
	html bool // it is HTML of a partial, not a value
}

// mark writes the mark of a value.
func (r *renderer) mark(n *node, value string) *failure {
	if r.room -= len(value); r.room < 0 {
		return fail(n, ErrTooLarge)
	}
	return r.markAs(n, marked{text: value})
}

func (r *renderer) markAs(n *node, m marked) *failure {
	if len(r.values) == maxMarks {
		return fail(n, ErrTooMuch)
	}
	r.values = append(r.values, m)
	return r.source(n, string(firstMark+rune(len(r.values)-1)))
}

func (r *renderer) source(n *node, s string) *failure {
	if r.unread -= len(s); r.unread < 0 {
		return fail(n, ErrTooMuch)
	}
	r.out.WriteString(s)
	return nil
}

// markdown renders a part in Markdown to HTML.
func (r *renderer) markdown(p part) (string, error) {
	room := r.room
	r.values = nil
	if _, err := r.render(p); err != nil {
		return "", err
	}
	html, err := r.read(room)
	if errors.Is(err, ErrTooLarge) {
		return "", ErrTooLarge.With("%s, as HTML: %s", p.name, ErrTooLarge)
	}
	return html, err
}

// read turns the Markdown that was written into HTML, which may take up to room bytes.
func (r *renderer) read(room int) (string, error) {
	source := []byte(r.out.String())
	found := &linked{values: r.values, room: MaxOutput}
	with := commonmark.NewContext()
	with.Set(linkedKey, found)
	var html bytes.Buffer
	read := reader.Parser().Parse(text.NewReader(source), commonmark.WithContext(with))
	if found.room < 0 {
		return "", ErrTooLarge
	}
	if err := reader.Renderer().Render(&html, source, read); err != nil {
		return "", err
	}
	r.room = room
	r.out.Reset()
	if failed := r.unmark(html.String()); failed != nil {
		return "", failed.err
	}
	return r.out.String(), nil
}

// unmark writes HTML with what its marks stand for: values are escaped. HTML of a partial has no
// place within a tag, and needs no paragraph of its own.
func (r *renderer) unmark(html string) *failure {
	at, within := &node{}, false
	for {
		i := strings.IndexByte(html, markByte)
		if i < 0 {
			return r.write(at, html)
		}
		mark, size := utf8.DecodeRuneInString(html[i:])
		before, after := html[:i], html[i+size:]
		if last := strings.LastIndexAny(before, "<>"); last >= 0 {
			within = before[last] == '<'
		}
		m := valueOf(r.values, mark, html[i:i+size])
		if m.html && strings.HasSuffix(before, "<p>") && strings.HasPrefix(after, "</p>") {
			before, after = strings.TrimSuffix(before, "<p>"), strings.TrimPrefix(after, "</p>")
		}
		if failed := r.write(at, before); failed != nil {
			return failed
		}
		write := r.writeEscaped
		if m.html {
			write = r.write
		}
		if !m.html || !within {
			if failed := write(at, m.text); failed != nil {
				return failed
			}
		}
		html = after
	}
}

// valueOf is what a mark stands for, or the rune itself where it is not one of these.
func valueOf(values []marked, mark rune, itself string) marked {
	if n := int(mark - firstMark); n >= 0 && n < len(values) {
		return values[n]
	}
	return marked{text: itself}
}

// linked is what the addresses of one message are made from.
type linked struct {
	values []marked
	room   int // for the addresses and titles of links, which Markdown can repeat
}

var linkedKey = commonmark.NewContextKey()

// links fills the addresses of links and pictures.
type links struct{}

// Transform implements [commonmark.ASTTransformer].
func (links) Transform(document *ast.Document, source text.Reader, with commonmark.Context) {
	found, _ := with.Get(linkedKey).(*linked)
	var replaced []*ast.AutoLink
	// The function returns no error, so neither does Walk.
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = found.address(n.Destination, n.Title)
			}
		case *ast.Image:
			if entering {
				n.Destination = found.address(n.Destination, n.Title)
			}
		case *ast.AutoLink:
			if entering {
				replaced = append(replaced, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range replaced { // An autolink shows its address as text, so it is replaced by a link.
		label := n.Label(source.Source())
		if bytes.IndexByte(label, markByte) < 0 {
			continue
		}
		link := ast.NewLink()
		address := escapeAddress(string(n.URL(source.Source())))
		if n.AutoLinkType == ast.AutoLinkEmail {
			address = "mailto:" + address
		}
		link.Destination = found.address([]byte(address), nil)
		shown := ast.NewString(label)
		shown.SetRaw(true) // The text contains no entities.
		link.AppendChild(link, shown)
		n.Parent().ReplaceChild(n.Parent(), n, link)
	}
}

// address is an address with its values. It is empty where a value would choose a scheme that no
// message needs.
func (l *linked) address(written, title []byte) []byte {
	l.room -= len(written) + len(title)
	first := bytes.IndexByte(written, markByte)
	if first < 0 || l.room < 0 {
		return written
	}
	var b strings.Builder
	for rest := string(written); rest != "" && l.room >= 0; {
		r, size := utf8.DecodeRuneInString(rest)
		if rest[0] == markByte {
			m := valueOf(l.values, r, rest[:size])
			if m.html {
				m.text = ""
			}
			value := escapeAddress(m.text)
			l.room -= len(value)
			b.WriteString(value)
		} else {
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	filled := []byte(b.String())
	if !bytes.ContainsAny(util.URLEscape(written[:first], true), ":/?#") && !isHarmless(util.URLEscape(filled, true)) {
		return nil
	}
	return filled
}

// escapeAddress escapes a literal text for an address in Markdown.
func escapeAddress(s string) string { return addressEscapes.Replace(s) }

var addressEscapes = strings.NewReplacer("&", "&amp;", `\`, `\\`)

// isHarmless reports whether an address has no scheme, or one of those that messages have.
func isHarmless(address []byte) bool {
	i := bytes.IndexAny(address, ":/?#")
	if i < 0 || address[i] != ':' {
		return true
	}
	return slices.Contains([]string{"http", "https", "mailto", "tel"}, strings.ToLower(string(address[:i])))
}
