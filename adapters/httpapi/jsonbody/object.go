package jsonbody

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
)

// Object is a JSON object with typed getters. A getter records an error for a wrong value and
// returns the zero value; call [Object.Err] after all getters. Members that are not read are
// ignored, and a null member counts as absent.
type Object struct {
	members map[string]any
	path    string
	faults  *errorList
}

// Unreadable returns an object without members for a body that is not an object or was not read.
// Its Err is this error, whatever its getters record.
func Unreadable(err error) *Object { return &Object{faults: &errorList{other: err}} }

// String returns a string member without surrounding white space; "" if it is absent.
func (o *Object) String(name string) string {
	v := o.members[name]
	s, ok := v.(string)
	if !ok && v != nil {
		o.addError(name, "must be a string, not %s", kindOf(v))
	}
	return strings.TrimSpace(s)
}

// Has reports whether there is a member of this name. It may be null.
func (o *Object) Has(name string) bool {
	_, has := o.members[name]
	return has
}

// Null reports whether a member is null or absent.
func (o *Object) Null(name string) bool { return o.members[name] == nil }

// Verbatim is String with surrounding white space.
func (o *Object) Verbatim(name string) string {
	o.String(name)
	s, _ := o.members[name].(string)
	return s
}

// Integers returns a member that is an array of integers, nil when it is absent.
func (o *Object) Integers(name string) []int64 {
	return elements(o, name, "integers", func(one *Object, name string) int64 {
		value, _ := one.Integer(name)
		return value
	})
}

// Strings returns a member that is an array of strings, nil when it is absent.
func (o *Object) Strings(name string) []string {
	return elements(o, name, "strings", (*Object).String)
}

// elements reads the elements of an array as if each were a member; none may be null.
func elements[T any](o *Object, name, kind string, read func(one *Object, name string) T) []T {
	v := o.members[name]
	items, ok := v.([]any)
	if !ok && v != nil {
		o.addError(name, "must be an array of %s, not %s", kind, kindOf(v))
	}
	var all []T
	for i, item := range items {
		place := element(name, i)
		if item == nil && !o.faults.addf(join(o.path, place), "must not be null") {
			break
		}
		all = append(all, read(&Object{members: map[string]any{place: item}, path: o.path, faults: o.faults}, place))
	}
	return all
}

// Bool returns a boolean member, or absent if there is none.
func (o *Object) Bool(name string, absent bool) bool {
	v := o.members[name]
	if v == nil {
		return absent
	}
	b, ok := v.(bool)
	if !ok {
		o.addError(name, "must be true or false, not %s", kindOf(v))
	}
	return b
}

// Integer returns an integer member; ok is false if it is absent or wrong. It must fit 64 bits. It
// may be written as 301.0 or 3e2, which are integers in JSON Schema.
func (o *Object) Integer(name string) (value int64, ok bool) {
	v := o.members[name]
	if v == nil {
		return 0, false
	}
	n, isNumber := v.(json.Number)
	if !isNumber {
		o.addError(name, "must be an integer, not %s", kindOf(v))
		return 0, false
	}
	value, err := integer(n.String())
	switch {
	case errors.Is(err, strconv.ErrRange):
		o.addError(name, "does not fit a 64-bit integer")
	case err != nil:
		o.addError(name, "must be an integer")
	}
	return value, err == nil
}

// integer parses a JSON number without a fraction.
func integer(text string) (int64, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	if !errors.Is(err, strconv.ErrSyntax) {
		return value, err
	}
	number, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.Trunc(number) != number:
		return 0, strconv.ErrSyntax
	case number < math.MinInt64 || number >= math.MaxInt64: // As a double, MaxInt64 is rounded up by one.
		return 0, strconv.ErrRange
	}
	return int64(number), nil
}

// RequiredInteger is Integer for a required member.
func (o *Object) RequiredInteger(name string) int64 {
	if o.members[name] == nil {
		o.addError(name, "is required")
	}
	value, _ := o.Integer(name)
	return value
}

// Map returns an object member unchanged; ok is false if it is absent or wrong.
func (o *Object) Map(name string) (value map[string]any, ok bool) {
	v := o.members[name]
	value, ok = v.(map[string]any)
	if !ok && v != nil {
		o.addError(name, "must be an object, not %s", kindOf(v))
	}
	return value, ok
}

// Objects returns a member that is an array of objects; nil if it is absent. Errors in them are
// recorded in o. Elements that are not objects are omitted.
func (o *Object) Objects(name string) []*Object {
	v := o.members[name]
	if v == nil {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		o.addError(name, "must be an array of objects, not %s", kindOf(v))
		return nil
	}
	result := make([]*Object, 0, len(items))
	for i, item := range items {
		path := element(join(o.path, name), i)
		members, ok := item.(map[string]any)
		if ok {
			result = append(result, &Object{members: members, path: path, faults: o.faults})
		} else if !o.faults.addf(path, "must be an object, not %s", kindOf(item)) {
			break
		}
	}
	return result
}

// Rows returns a member that must be an array of 1 to most elements. Unlike those of
// [Object.Objects], each element records its own errors, with field names as if it were the body.
// An element that is not an object has an error.
func (o *Object) Rows(name string, most int) []*Object {
	items, ok := o.members[name].([]any)
	switch v := o.members[name]; {
	case v == nil:
		o.addError(name, "is required")
	case !ok:
		o.addError(name, "must be an array of objects, not %s", kindOf(v))
	case len(items) == 0:
		o.addError(name, "must not be empty")
	case len(items) > most:
		o.addError(name, "has %d elements; at most %d are allowed", len(items), most)
	}
	rows := make([]*Object, min(len(items), most))
	for i := range rows {
		members, ok := items[i].(map[string]any)
		rows[i] = &Object{members: members, faults: new(errorList)}
		if !ok {
			rows[i].addError(Body, "must be an object, not %s", kindOf(items[i]))
		}
	}
	return rows
}

// Only records an error for each member that is not in names. Names are in the order of the
// documentation.
func (o *Object) Only(names ...string) {
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		if !slices.Contains(names, name) {
			o.faults.addAs(ErrUnknownMember, join(o.path, shown(name)), "is not a member of this object, which may have %s", strings.Join(names, ", "))
		}
	}
}

// Check records errors that the domain found in the values. It skips fields that have an error
// already, because the domain saw their zero value.
func (o *Object) Check(err error) {
	if err == nil {
		return
	}
	var e *fault.Error
	if !errors.As(err, &e) || e.Kind() != fault.Invalid {
		if o.faults.other == nil {
			o.faults.other = err
		}
		return
	}
	if len(e.Fields()) == 0 {
		o.faults.addAs(e, join(o.path, Body), "%s", e.Error())
	}
	known := slices.Clone(o.faults.fields)
	for _, f := range e.Fields() {
		path := join(o.path, f.Name)
		if slices.ContainsFunc(known, func(k fault.FieldErrors) bool { return k.Name == path }) {
			continue
		}
		for _, m := range f.Messages {
			o.faults.addAs(cmp.Or[error](f.Cause, e), path, "%s", m)
		}
	}
}

// Err returns nil if there were no errors, else a [fault.Invalid] with all of them, or the first
// error given to Unreadable or Check that is not about a member.
func (o *Object) Err() error { return o.faults.err() }

// Mistakes returns the errors about members, nil if there are none, and the error that Err returns
// instead of them, if there is one.
func (o *Object) Mistakes() (mistakes, other error) { return o.faults.fields.Err(), o.faults.other }

func (o *Object) addError(name, format string, args ...any) {
	o.faults.addf(join(o.path, name), format, args...)
}
