package jsonbody

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/metadata"
)

// walker builds the values of a JSON text whose syntax has been checked, and complains about what
// the syntax allows and this API does not. It never looks for syntax errors.
type walker struct {
	text   []byte
	pos    int
	path   []step
	faults complaints
	done   bool // nothing after this is worth reading
}

// step is one level of a path: a member's name, or an element's index when name is nil.
type step struct {
	name  *string
	index int
}

func (w *walker) value(depth int) any {
	w.space()
	switch w.text[w.pos] {
	case '{', '[':
		if depth > MaxDepth {
			w.complain("is nested deeper than %d levels", MaxDepth)
			w.done = true
			return nil
		}
		if w.text[w.pos] == '{' {
			return w.object(depth)
		}
		return w.array(depth)
	case '"':
		s, flaw := w.string()
		if flaw != "" {
			w.complain("%s", flaw)
		}
		return s
	case 't':
		w.pos += len("true")
		return true
	case 'f':
		w.pos += len("false")
		return false
	case 'n':
		w.pos += len("null")
		return nil
	default:
		return w.number()
	}
}

func (w *walker) object(depth int) any {
	members := map[string]any{}
	for w.more('}') {
		name, flaw := w.string()
		w.path = append(w.path, step{name: &name})
		if flaw != "" {
			w.complain("has a name that %s", flaw)
		}
		if _, twice := members[name]; twice {
			w.complain("is there twice")
		}
		w.space()
		w.pos++ // the colon
		members[name] = w.value(depth + 1)
		w.path = w.path[:len(w.path)-1]
	}
	return members
}

func (w *walker) array(depth int) any {
	items := []any{}
	for w.more(']') {
		w.path = append(w.path, step{index: len(items)})
		items = append(items, w.value(depth+1))
		w.path = w.path[:len(w.path)-1]
	}
	return items
}

// more moves to the next member or element and reports whether there is one. The bracket and the
// comma before it are passed over alike.
func (w *walker) more(closing byte) bool {
	if w.done {
		return false
	}
	w.space()
	if w.text[w.pos] == closing {
		w.pos++
		return false
	}
	w.pos++
	w.space()
	if w.text[w.pos] == closing {
		w.pos++
		return false
	}
	return true
}

func (w *walker) number() json.Number {
	start := w.pos
	for w.pos < len(w.text) && strings.IndexByte("+-.eE0123456789", w.text[w.pos]) >= 0 {
		w.pos++
	}
	n := json.Number(w.text[start:w.pos])
	if !metadata.Holds(n) {
		w.complain("%s", metadata.NoDouble)
	}
	return n
}

// string reads a string and says what is wrong with it, if anything.
func (w *walker) string() (s, flaw string) {
	w.pos++ // the opening quote
	rest := w.text[w.pos:]
	end := bytes.IndexByte(rest, '"')
	if bytes.IndexByte(rest[:end], '\\') < 0 {
		w.pos += end + 1
		s = string(rest[:end])
		if !utf8.ValidString(s) {
			return strings.ToValidUTF8(s, "\uFFFD"), "is not valid UTF-8"
		}
		return s, ""
	}
	return w.escaped()
}

func (w *walker) escaped() (s, flaw string) {
	var b []byte
	for {
		c := w.text[w.pos]
		w.pos++
		switch c {
		case '"':
			if !utf8.Valid(b) {
				return strings.ToValidUTF8(string(b), "\uFFFD"), "is not valid UTF-8"
			}
			return string(b), flaw
		case '\\':
			r, what := w.escape()
			if what != "" {
				flaw = what
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, c)
		}
	}
}

func (w *walker) escape() (r rune, flaw string) {
	c := w.text[w.pos]
	w.pos++
	switch c {
	case 'b':
		return '\b', ""
	case 'f':
		return '\f', ""
	case 'n':
		return '\n', ""
	case 'r':
		return '\r', ""
	case 't':
		return '\t', ""
	case 'u':
		return w.hex()
	default: // a quote, a slash or a backslash
		return rune(c), ""
	}
}

func (w *walker) hex() (r rune, flaw string) {
	r = w.unit()
	switch {
	case r == 0:
		return r, "contains a NUL character"
	case !utf16.IsSurrogate(r):
		return r, ""
	}
	if bytes.HasPrefix(w.text[w.pos:], []byte(`\u`)) {
		start := w.pos
		w.pos += len(`\u`)
		if pair := utf16.DecodeRune(r, w.unit()); pair != unicode.ReplacementChar {
			return pair, ""
		}
		w.pos = start
	}
	return unicode.ReplacementChar, "contains half of a surrogate pair"
}

func (w *walker) unit() rune {
	u, _ := strconv.ParseUint(string(w.text[w.pos:w.pos+4]), 16, 16)
	w.pos += 4
	return rune(u)
}

func (w *walker) space() {
	for w.pos < len(w.text) && strings.IndexByte(" \t\r\n", w.text[w.pos]) >= 0 {
		w.pos++
	}
}

func (w *walker) complain(format string, args ...any) {
	path := ""
	for _, s := range w.path {
		if s.name == nil {
			path = element(path, s.index)
		} else {
			path = join(path, shown(*s.name))
		}
	}
	if path == "" {
		path = Body
	}
	if !w.faults.addf(path, format, args...) {
		w.done = true
	}
}

// maxName is how much of a member's name a path repeats, in characters.
const maxName = 64

// shown is a member's name in a form that fits into an answer: short and printable.
func shown(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
	if utf8.RuneCountInString(name) > maxName {
		name = string([]rune(name)[:maxName]) + "…"
	}
	return name
}

func join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}

func element(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }
