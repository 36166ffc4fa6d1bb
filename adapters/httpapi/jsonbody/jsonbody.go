// Package jsonbody parses JSON request bodies strictly (decisions 2) and reports all errors at
// once, each with the path of its field. It checks JSON types and limits. The domain checks the
// meaning of values, such as e-mail addresses.
package jsonbody

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/tocsin/tocsin/domain/fault"
)

// MaxDepth is the maximum nesting of objects and arrays. The body itself is the first level.
const MaxDepth = 32

// Body is the field name of errors about the body as a whole.
const Body = "body"

// The faults of bodies that clients can distinguish.
var (
	ErrNotJSON       = fault.New(fault.Invalid, "is not JSON")
	ErrUnknownMember = fault.New(fault.Invalid, "is not a member of this object")
)

// Parse parses one JSON text. Its values are nil, bool, string, json.Number, []any and
// map[string]any; numbers keep their spelling. It refuses, with a [fault.Invalid] that names the
// field: invalid UTF-8, NUL characters, unpaired surrogate escapes, nesting deeper than MaxDepth, a
// number too large for a double, which many readers cannot decode, and an object with duplicate
// members, since readers disagree on which of them counts. A leading byte order mark is ignored.
func Parse(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	w := newWalker(text)
	v := w.value(1)
	if w.done && !json.Valid(text) || !w.done && !w.atEnd() {
		return nil, syntax(text)
	}
	return v, w.faults.err()
}

// ParseObject is Parse for a body that must be an object.
func ParseObject(text []byte) (*Object, error) {
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, fault.Field(Body, "must be an object, not %s", kindOf(v))
	}
	return &Object{members: members, faults: new(errorList)}, nil
}

// ParseStrings is Parse for a body that must be an array of strings.
func ParseStrings(text []byte) ([]string, error) {
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fault.Field(Body, "must be an array of strings, not %s", kindOf(v))
	}
	var faults errorList
	result := make([]string, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok && !faults.addf(element("", i), "must be a string, not %s", kindOf(item)) {
			break
		}
		result[i] = s
	}
	return result, faults.err()
}

// syntax returns a fault with the line and column of a syntax error.
func syntax(text []byte) error {
	var faults fault.Fields
	if len(text) == 0 {
		faults.AddAs(ErrNotJSON, Body, "is missing")
		return faults.Err()
	}
	var raw json.RawMessage
	var s *json.SyntaxError
	if err := json.Unmarshal(text, &raw); !errors.As(err, &s) {
		faults.Add(Body, ErrNotJSON)
		return faults.Err()
	}
	line, column := 1, 1
	for _, b := range text[:max(0, min(int(s.Offset), len(text))-1)] {
		if b == '\n' {
			line, column = line+1, 0
		}
		column++
	}
	faults.AddAs(ErrNotJSON, Body, "is not JSON: line %d, column %d: %s", line, column, s.Error())
	return faults.Err()
}

// maxErrors is the maximum number of errors reported for one body.
const maxErrors = 50

type errorList struct {
	fields fault.Fields
	count  int
	other  error // an error that is not about a member
}

// addf adds an error and reports whether more may be added.
func (c *errorList) addf(name, format string, args ...any) bool {
	return c.addAs(nil, name, format, args...)
}

// addAs is addf with a sentinel error.
func (c *errorList) addAs(cause error, name, format string, args ...any) bool {
	switch c.count++; {
	case c.count < maxErrors:
		c.fields.AddAs(cause, name, format, args...)
	case c.count == maxErrors:
		c.fields.AddAs(cause, name, format, args...)
		c.fields.Addf(Body, "may have more mistakes than are listed here")
	}
	return c.count < maxErrors
}

func (c *errorList) err() error {
	if c.other != nil {
		return c.other
	}
	return c.fields.Err()
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}
