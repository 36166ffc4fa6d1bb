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

// walker decodes a JSON text, and records errors for valid JSON that this API does not accept.
type walker struct {
	text      *jsontext.Decoder
	buffer    []byte // of the last string
	path      []step
	faults    errorList
	done      bool  // stop: the rest need not be read
	syntaxErr error // the syntax error
}

// step is one level of a path: a member's name, or an element's index if name is nil.
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
			w.addError("is nested deeper than %d levels", MaxDepth)
			w.done = true
			return nil
		}
		if kind == jsontext.KindBeginObject {
			return w.object(depth)
		}
		return w.array(depth)
	case jsontext.KindString:
		s, problem := w.string()
		if problem != "" {
			w.addError("%s", problem)
		}
		return s
	case jsontext.KindNumber:
		n := json.Number(w.raw())
		if w.syntaxErr != nil {
			return nil
		}
		if !metadata.FitsDouble(n) {
			w.addError("%s", metadata.TooLargeForDouble)
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
		name, problem := w.string()
		w.path = append(w.path, step{name: &name})
		if problem != "" {
			w.addError("has a name that %s", problem)
		}
		if _, duplicate := members[name]; duplicate {
			w.addError("is given twice")
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

// more reports whether there is another member or element. If not, it skips the closing bracket.
func (w *walker) more(closing jsontext.Kind) bool {
	if w.done || w.syntaxErr != nil {
		return false
	}
	if kind := w.text.PeekKind(); kind != closing && kind != jsontext.KindInvalid {
		return true
	}
	w.token()
	return false
}

// atEnd reports whether the text was exactly one value.
func (w *walker) atEnd() bool {
	_, err := w.text.ReadToken()
	return w.syntaxErr == nil && errors.Is(err, io.EOF)
}

// token skips a bracket or a literal.
func (w *walker) token() {
	if _, err := w.text.ReadToken(); err != nil {
		w.syntaxErr = cmp.Or(w.syntaxErr, err)
	}
}

// raw returns a string or a number as written.
func (w *walker) raw() []byte {
	v, err := w.text.ReadValue()
	if err != nil {
		w.syntaxErr = cmp.Or(w.syntaxErr, err)
	}
	return v
}

// string reads a string and returns its flaw, if it has one.
func (w *walker) string() (s, problem string) {
	text := w.raw()
	if w.syntaxErr != nil {
		return "", ""
	}
	b, err := jsontext.AppendUnquote(w.buffer[:0], text)
	w.buffer = b
	switch {
	case err != nil && !utf8.Valid(text):
		problem = "is not valid UTF-8"
	case err != nil:
		problem = "contains half of a surrogate pair"
	case bytes.IndexByte(b, 0) >= 0:
		problem = "contains a NUL character"
	}
	return string(b), problem
}

func (w *walker) addError(format string, args ...any) {
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
