// Package metadata is the free-form data (custom_fields) that organizations and applications keep
// about a user, and the four ways to change it. It knows JSON's values and nothing of who owns
// them.
package metadata

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tocsin/tocsin/domain/fault"
)

// Limits of one member's metadata (decisions 2).
const (
	MaxBytes = 64 << 10
	MaxDepth = 32
	// MaxValues is how many members of objects and elements of arrays there may be at all depths
	// together. A value takes up to twenty times its text in memory.
	MaxValues = 2_000
)

const tooDeep = "is nested deeper than 32 levels"

// ErrTooLarge refuses metadata whose JSON text is longer than MaxBytes, sent or merged.
var ErrTooLarge = fault.New(fault.Invalid, "metadata is larger than 64 KiB")

// ErrTooMany refuses metadata with more than MaxValues values, sent or merged.
var ErrTooMany = fault.New(fault.Invalid, "metadata has more than 2,000 values")

// Map is one JSON object. Its values are nil, bool, string, json.Number, []any and map[string]any;
// numbers stay json.Number, so that they come back as they were sent. A Map is never changed in
// place.
type Map map[string]any

// Parse reads the metadata of one member: an object as ParseObject reads it, of at most MaxValues.
func Parse(text []byte) (Map, error) {
	m, err := ParseObject(text)
	if err == nil && m.Count() > MaxValues {
		err = ErrTooMany
	}
	return m, err
}

// ParseObject reads one JSON object, and says where a mistake is. It refuses other values, trailing
// text, invalid UTF-8, NUL characters, numbers that no double holds, nesting deeper than MaxDepth
// and more than MaxBytes.
func ParseObject(text []byte) (Map, error) {
	if len(text) > MaxBytes {
		return nil, ErrTooLarge
	}
	if !utf8.Valid(text) {
		return nil, fault.New(fault.Invalid, "is not valid UTF-8")
	}
	m, err := decode(text)
	if err != nil {
		return nil, err
	}
	return m, m.checkValues()
}

// Decode reads metadata that was written by [Map.Encode]; it trusts its limits.
func Decode(text []byte) (Map, error) {
	if len(text) == 0 || string(text) == "{}" {
		return Map{}, nil
	}
	return decode(text)
}

func decode(text []byte) (Map, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m Map
	if err := d.Decode(&m); err != nil || m == nil {
		return nil, notAnObject(text, err)
	}
	if rest := bytes.TrimLeft(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fault.New(fault.Invalid, "must be one JSON object and nothing after it: "+position(text, int64(len(text)-len(rest))))
	}
	return m, nil
}

// notAnObject says where a text stops being a JSON object.
func notAnObject(text []byte, err error) error {
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		// The offset is behind the unexpected character.
		return fault.New(fault.Invalid, "must be a JSON object: "+position(text, syntax.Offset-1)+": "+syntax.Error())
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.Invalid, "must be a JSON object: "+position(text, int64(len(text)))+": it ends too early")
	}
	return fault.New(fault.Invalid, "must be a JSON object")
}

// position is where an offset is for people, who count lines and characters from 1.
func position(text []byte, offset int64) string {
	before := text[:min(max(int(offset), 0), len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, column)
}

// Check reports what Parse would refuse in a Map that was built otherwise.
func (m Map) Check() error { return m.check(MaxValues) }

// check is Check with another maximum of values.
func (m Map) check(values int) error {
	if m.Count() > values {
		return ErrTooMany
	}
	if m.isSmallAndFlat() {
		return nil
	}
	if err := m.checkValues(); err != nil {
		return err
	}
	_, err := m.Encode()
	return err
}

// Count returns how many members and elements there are at all depths.
func (m Map) Count() int { return countBelow(map[string]any(m)) }

func countBelow(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, inner := range v {
			n += countBelow(inner)
		}
	case []any:
		n = len(v)
		for _, inner := range v {
			n += countBelow(inner)
		}
	}
	return n
}

// isSmallAndFlat reports whether m is a flat object of strings, as imports bring them, whose JSON
// text cannot be longer than MaxBytes however much of it is escaped. It spares most of them from
// being encoded only to be measured.
func (m Map) isSmallAndFlat() bool {
	const longestEscape, around = len(`\u0000`), len(`"":"",`)
	size := len("{}")
	for k, v := range m {
		text, flat := v.(string)
		if !flat || hasNUL(k) || hasNUL(text) {
			return false
		}
		size += longestEscape*(len(k)+len(text)) + around
	}
	return size <= MaxBytes
}

func (m Map) checkValues() error {
	if path, wrong := check(map[string]any(m), 1); wrong != "" {
		return fault.Field(path, "%s", wrong)
	}
	return nil
}

// check returns what is wrong with v and, relative to v, where; nothing when all is well. The path
// is put together on the way back from a mistake, because building one for every value costs time
// that an attacker can choose.
func check(v any, depth int) (path, wrong string) {
	switch v := v.(type) {
	case map[string]any:
		if depth > MaxDepth {
			return "", tooDeep
		}
		for k, inner := range v {
			if hasNUL(k) {
				return "", "has a member whose name contains a NUL character"
			}
			if path, wrong = check(inner, depth+1); wrong != "" {
				return below(k, path), wrong
			}
		}
	case []any:
		if depth > MaxDepth {
			return "", tooDeep
		}
		for i, inner := range v {
			if path, wrong = check(inner, depth+1); wrong != "" {
				return below("["+strconv.Itoa(i)+"]", path), wrong
			}
		}
	case string:
		if hasNUL(v) {
			return "", "contains a NUL character"
		}
	case json.Number:
		if !FitsDouble(v) {
			return "", TooLargeForDouble
		}
	}
	return "", ""
}

// TooLargeForDouble says what is wrong with a number that does not fit a double.
const TooLargeForDouble = "is a number that is too large for a double"

// FitsDouble reports whether a double holds the number, if not exactly. Many JSON decoders read a
// larger one as infinity, or fail, and then nothing of the whole document can be read.
func FitsDouble(n json.Number) bool {
	const safe = 300 // digits
	if len(n) <= safe && !strings.ContainsAny(string(n), "eE") {
		return true
	}
	_, err := strconv.ParseFloat(string(n), 64)
	return err == nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// below is the path of what lies at the relative path inner within the member or element called
// name.
func below(name, inner string) string {
	if inner == "" || strings.HasPrefix(inner, "[") {
		return name + inner
	}
	return name + "." + inner
}

// Encode returns the JSON text of m; ErrTooLarge when it is longer than MaxBytes.
func (m Map) Encode() ([]byte, error) {
	if len(m) == 0 {
		return []byte("{}"), nil
	}
	text, err := JSON(map[string]any(m))
	if err != nil {
		return nil, fault.New(fault.Invalid, "is not JSON: "+err.Error())
	}
	if len(text) > MaxBytes {
		return nil, ErrTooLarge
	}
	return text, nil
}

// JSON returns v as JSON text. The standard library's Marshal would write six bytes for each <, >
// and &, which limits of the text would count.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// Digest returns a short digest of metadata. Equal metadata has the same digest.
func (m Map) Digest() string {
	text, err := m.Encode() // Members come in the order of their names.
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Equal reports whether both hold the same members and values.
func (m Map) Equal(other Map) bool {
	return len(m) == len(other) && (len(m) == 0 || reflect.DeepEqual(m, other))
}

// Clone returns a deep copy that shares nothing with m.
func (m Map) Clone() Map {
	if m == nil {
		return Map{}
	}
	return Map(cloneValue(map[string]any(m)).(map[string]any))
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, inner := range v {
			c[k] = cloneValue(inner)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, inner := range v {
			c[i] = cloneValue(inner)
		}
		return c
	default:
		return v
	}
}
