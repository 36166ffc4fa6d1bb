package templates

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// plain returns the text of an HTML document: paragraphs and headings by blank lines, cells of a
// table by spaces, items of lists by dashes or numbers, links followed by their address, and
// pictures by what stands for them. It returns an empty text if the result would exceed room bytes.
//
// The tokenizer is a library's, the layout is ours: k3a/html2text 1.3.0 writes cells and divisions
// into one word, inbucket/html2text 1.0.0 takes four times as long.
func plain(document string, room int) string {
	p := textWriter{tokens: html.NewTokenizer(strings.NewReader(document))}
	for p.out.Len() <= room {
		token, opened := p.tokens.Next(), p.opened
		p.opened = false
		switch token {
		case html.ErrorToken: // The end: a string cannot fail to be read.
			return strings.TrimSpace(p.out.String())
		case html.TextToken:
			if p.skipped == "" {
				text := string(p.tokens.Text())
				if opened {
					text = strings.TrimPrefix(text, "\n")
				}
				p.text(text)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			p.begin()
		case html.EndTagToken:
			name, _ := p.tokens.TagName()
			p.end(string(name))
		case html.CommentToken, html.DoctypeToken:
		}
	}
	return ""
}

// textWriter writes the text of one document.
type textWriter struct {
	tokens  *html.Tokenizer
	out     strings.Builder
	breaks  int    // line breaks before the next text
	space   bool   // there is one before the next text
	skipped string // the element that is being skipped
	kept    int    // elements around whose spaces and lines count
	opened  bool   // the last token began such an element: a line break after it does not count
	lists   []int  // the lists around: the number of the next item, or 0 for dashes
	link    string // the address of the link around
	named   int    // where the link's text begins
}

// maxBreaks is how many line breaks stand between texts, except in elements whose lines count.
const maxBreaks = 2

// maxLists is how many levels of nested lists are distinguished.
const maxLists = 32

// gap is how many line breaks stand before and after an element; none: it is within a line.
func gap(tag string) int {
	switch tag {
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "dl", "blockquote", "pre", "hr":
		return 2
	case "div", "li", "tr", "dt", "dd", "section", "article", "header", "footer", "main", "aside",
		"nav", "address", "center", "form", "fieldset", "figure", "figcaption", "caption", "body":
		return 1
	}
	return 0
}

func (p *textWriter) begin() {
	name, attributes := p.tokens.TagName()
	tag := string(name)
	if p.skipped != "" {
		return
	}
	before := p.breaks
	p.breaks = max(p.breaks, gap(tag))
	switch tag {
	case "script", "style", "title", "noscript", "iframe", "noembed", "noframes":
		p.skipped = tag
	case "br":
		p.breaks++
	case "td", "th":
		p.space = true
	case "pre":
		p.breaks = min(p.breaks, maxBreaks)
		p.kept, p.opened = p.kept+1, true
	case "ul":
		p.open(0, before)
	case "ol":
		p.open(1, before)
	case "li":
		p.item()
	case "hr":
		p.write("----")
		p.breaks = 2
	case "a":
		p.link, p.named = p.attribute("href", attributes), p.out.Len()
	case "img":
		p.text(p.attribute("alt", attributes))
	}
}

func (p *textWriter) end(tag string) {
	if p.skipped != "" {
		if tag == p.skipped {
			p.skipped = ""
		}
		return
	}
	before := p.breaks
	p.breaks = max(p.breaks, gap(tag))
	switch tag {
	case "pre":
		p.kept = max(p.kept-1, 0)
	case "ul", "ol":
		if len(p.lists) > 0 {
			p.lists = p.lists[:len(p.lists)-1]
		}
		p.nested(before)
	case "a":
		p.endLink()
	}
}

// nested keeps a list within an item to its lines: no blank ones stand around it.
func (p *textWriter) nested(before int) {
	if len(p.lists) > 0 {
		p.breaks = max(before, 1)
	}
}

func (p *textWriter) open(number, before int) {
	p.nested(before)
	if len(p.lists) < maxLists {
		p.lists = append(p.lists, number)
	}
}

func (p *textWriter) item() {
	mark := "-"
	if n := len(p.lists) - 1; n >= 0 {
		mark = strings.Repeat("  ", n) + mark
		if p.lists[n] > 0 {
			mark = strings.Repeat("  ", n) + strconv.Itoa(p.lists[n]) + "."
			p.lists[n]++
		}
	}
	p.write(mark)
	p.space = true
}

// endLink writes the address of a link, unless its text shows it or it is no external link.
func (p *textWriter) endLink() {
	link := p.link
	p.link = ""
	shown := strings.TrimSpace(p.out.String()[min(p.named, p.out.Len()):])
	scheme, rest, _ := strings.Cut(link, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
	case "mailto", "tel":
		link = rest
	default:
		return
	}
	switch shown {
	case link:
	case "":
		p.text(link)
	default:
		p.text(" (" + link + ")")
	}
}

func (p *textWriter) attribute(name string, more bool) string {
	for more {
		var key, value []byte
		if key, value, more = p.tokens.TagAttr(); string(key) == name {
			return strings.TrimSpace(string(value))
		}
	}
	return ""
}

// text writes a text, its spaces and lines as one space each, unless they count. Line breaks at its
// end stand before the next text, so that none are left at the end of an element.
func (p *textWriter) text(s string) {
	if p.kept > 0 {
		shown := strings.TrimRight(s, "\n")
		if shown != "" {
			p.write(shown)
		}
		p.breaks += len(s) - len(shown)
		return
	}
	for len(s) > 0 {
		end := strings.IndexAny(s, " \t\r\n\f\u00a0")
		if end != 0 {
			if end < 0 {
				end = len(s)
			}
			p.write(s[:end])
		}
		rest := strings.TrimLeft(s[end:], " \t\r\n\f\u00a0")
		p.space = p.space || len(rest) < len(s)-end
		s = rest
	}
}

// write writes a text after the line breaks or the space that stand before it.
func (p *textWriter) write(s string) {
	switch {
	case p.out.Len() == 0:
	case p.breaks > 0:
		if p.kept == 0 {
			p.breaks = min(p.breaks, maxBreaks)
		}
		p.out.WriteString(strings.Repeat("\n", p.breaks))
	case p.space:
		p.out.WriteByte(' ')
	}
	p.breaks, p.space = 0, false
	p.out.WriteString(s)
}
