package jsonbody

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tocsin/tocsin/domain/metadata"
)

// walker builds the values of a JSON text, and records what JSON allows and this API does not.
type walker struct {
	text   *jsontext.Decoder
	buffer []byte // of the last string
	path   []step
	faults complaints
	done   bool  // stop: the rest need not be read
	broken error // the syntax error
}

// step is one level of a path: a member's name, or an element's index when name is nil.
type step struct {
	name  *string
	index int
}

func newWalker(text []byte) *walker {
	return &walker{text: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

func (w *walker) value(depth int) any {
	switch kind := w.text.PeekKind(); kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if depth > MaxDepth {
			w.complain("is nested deeper than %d levels", MaxDepth)
			w.done = true
			return nil
		}
		if kind == jsontext.KindBeginObject {
			return w.object(depth)
		}
		return w.array(depth)
	case jsontext.KindString:
		s, flaw := w.string()
		if flaw != "" {
			w.complain("%s", flaw)
		}
		return s
	case jsontext.KindNumber:
		n := json.Number(w.raw())
		if w.broken != nil {
			return nil
		}
		if !metadata.FitsDouble(n) {
			w.complain("%s", metadata.TooLargeForDouble)
		}
		return n
	case jsontext.KindTrue, jsontext.KindFalse:
		w.token()
		return kind == jsontext.KindTrue
	default:
		w.token()
		return nil
	}
}

func (w *walker) object(depth int) any {
	members := map[string]any{}
	for w.token(); w.more(jsontext.KindEndObject); {
		name, flaw := w.string()
		w.path = append(w.path, step{name: &name})
		if flaw != "" {
			w.complain("has a name that %s", flaw)
		}
		if _, twice := members[name]; twice {
			w.complain("is there twice")
		}
		members[name] = w.value(depth + 1)
		w.path = w.path[:len(w.path)-1]
	}
	return members
}

func (w *walker) array(depth int) any {
	items := []any{}
	for w.token(); w.more(jsontext.KindEndArray); {
		w.path = append(w.path, step{index: len(items)})
		items = append(items, w.value(depth+1))
		w.path = w.path[:len(w.path)-1]
	}
	return items
}

// more reports whether there is another member or element; else it skips the closing bracket.
func (w *walker) more(closing jsontext.Kind) bool {
	if w.done || w.broken != nil {
		return false
	}
	if kind := w.text.PeekKind(); kind != closing && kind != jsontext.KindInvalid {
		return true
	}
	w.token()
	return false
}

// ended reports whether the text was exactly one value.
func (w *walker) ended() bool {
	_, err := w.text.ReadToken()
	return w.broken == nil && errors.Is(err, io.EOF)
}

// token skips a bracket or a literal.
func (w *walker) token() {
	if _, err := w.text.ReadToken(); err != nil {
		w.broken = cmp.Or(w.broken, err)
	}
}

// raw returns a string or a number as written.
func (w *walker) raw() []byte {
	v, err := w.text.ReadValue()
	if err != nil {
		w.broken = cmp.Or(w.broken, err)
	}
	return v
}

// string reads a string and returns its flaw, if it has one.
func (w *walker) string() (s, flaw string) {
	written := w.raw()
	if w.broken != nil {
		return "", ""
	}
	b, err := jsontext.AppendUnquote(w.buffer[:0], written)
	w.buffer = b
	switch {
	case err != nil && !utf8.Valid(written):
		flaw = "is not valid UTF-8"
	case err != nil:
		flaw = "contains half of a surrogate pair"
	case bytes.IndexByte(b, 0) >= 0:
		flaw = "contains a NUL character"
	}
	return string(b), flaw
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

// maxName is how many characters of a member's name a path repeats.
const maxName = 64

// shown returns a member's name in a form fit for a response: short and printable.
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
