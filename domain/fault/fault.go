// Package fault defines the errors of the domain: their kind, and the fields that they concern. It
// knows no HTTP, SQL or terminal; each adapter maps a Kind to its own kind of answer, in one place.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is the class of a failure, which decides the answer to the caller. The zero value is
// Internal, so that an unclassified fault is never shown as the caller's mistake.
type Kind uint8

// The kinds. Every sentinel of the domain carries one of them.
const (
	Internal        Kind = iota // ours: logged with the request id, never shown
	Invalid                     // the input is wrong and will stay wrong
	Unauthenticated             // we do not know who asks
	Forbidden                   // we know, and the answer is no
	NotFound                    // does not exist for the caller
	TooLarge                    // the input is over a size limit
	Unsupported                 // the media type of the input is not supported
	Mismatch                    // an idempotency key came back with another body
	Limited                     // too many requests, a later one may succeed
	Unavailable                 // something that we depend on is not available, a retry may help
	Conflict                    // several things fit the input, which must name one of them
	Changed                     // the object is not in the state that the input expects
	TooSlow                     // the input did not come in time
)

var kindNames = [...]string{"internal", "invalid", "unauthenticated", "forbidden", "not found", "too large",
	"unsupported", "mismatch", "limited", "unavailable", "conflict", "changed", "too slow"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is a failure with a kind, a sentence for the person who caused it and, for invalid
// input, what is wrong with each field.
type Error struct {
	kind    Kind
	message string
	fields  Fields
	cause   error
}

// New returns a sentinel: compare with errors.Is, refine with [Error.With] or [Error.On].
func New(kind Kind, message string) *Error { return &Error{kind: kind, message: message} }

// Field returns an Invalid error about one field.
func Field(name, format string, args ...any) *Error {
	var f Fields
	f.Addf(name, format, args...)
	return f.invalid()
}

// Kind is the error's kind.
func (e *Error) Kind() Kind { return e.kind }

// Fields lists what is wrong with each field; empty unless the kind is Invalid.
func (e *Error) Fields() Fields { return e.fields }

func (e *Error) Error() string { return e.message }

// Unwrap returns the sentinel that this error refines.
func (e *Error) Unwrap() error { return e.cause }

// With returns an error of the same kind with another message. errors.Is reports that it is e.
func (e *Error) With(format string, args ...any) *Error {
	return &Error{kind: e.kind, message: fmt.Sprintf(format, args...), fields: e.fields, cause: e}
}

// On returns e as a complaint about one field; it still is (errors.Is) e.
func (e *Error) On(field string) *Error {
	return &Error{kind: e.kind, message: e.message, fields: Fields{{Name: field, Messages: []string{e.message}}}, cause: e}
}

// KindOf returns the kind of the first fault.Error in err's chain, Internal when there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.kind
	}
	return Internal
}

// Reason returns the message of an error about one field, without the name of the field.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && len(e.fields) == 1 {
		return strings.Join(e.fields[0].Messages, ", ")
	}
	return err.Error()
}

// FieldErrors is what is wrong with one field of an input. Name is a path as the caller wrote it:
// `email`, `addresses[2].value`, `custom_fields.a.b`.
type FieldErrors struct {
	Name     string
	Messages []string
	Cause    error // the fault behind the first message; nil: none has a name
}

// Fields collects every mistake of an input, so that the caller learns them all at once. The zero
// value is ready for use.
type Fields []FieldErrors

// Addf records a mistake in a field.
func (f *Fields) Addf(name, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if i := slices.IndexFunc(*f, func(e FieldErrors) bool { return e.Name == name }); i >= 0 {
		(*f)[i].Messages = append((*f)[i].Messages, message)
		return
	}
	*f = append(*f, FieldErrors{Name: name, Messages: []string{message}})
}

// AddAs is Addf for a mistake that is known by a sentinel.
func (f *Fields) AddAs(cause error, name, format string, args ...any) {
	known := len(*f)
	f.Addf(name, format, args...)
	if len(*f) > known {
		(*f)[known].Cause = cause
	}
}

// Append records a mistake in a field that has none yet. Addf looks for the field first, which is
// too slow for thousands of them.
func (f *Fields) Append(name, format string, args ...any) { f.AppendAs(nil, name, format, args...) }

// AppendAs is Append for a mistake that is known by a sentinel.
func (f *Fields) AppendAs(cause error, name, format string, args ...any) {
	*f = append(*f, FieldErrors{Name: name, Messages: []string{fmt.Sprintf(format, args...)}, Cause: cause})
}

// Add records err against a field: its own fields when it has some (below the name), else its
// message. A nil err records nothing.
func (f *Fields) Add(name string, err error) {
	if err == nil {
		return
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		f.Addf(name, "%s", err.Error())
		return
	}
	if len(e.fields) == 0 {
		f.AddAs(e, name, "%s", err.Error())
		return
	}
	for _, inner := range e.fields {
		cause := inner.Cause
		if cause == nil && len(e.fields) == 1 {
			cause = e.cause
		}
		for _, m := range inner.Messages {
			f.AddAs(cause, join(name, inner.Name), "%s", m)
		}
	}
}

// Err is nil when no mistake was recorded, else an Invalid error that carries them all.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f.invalid()
}

func (f Fields) invalid() *Error {
	said := make([]string, len(f))
	for i, e := range f {
		said[i] = e.Name + ": " + strings.Join(e.Messages, ", ")
	}
	return &Error{kind: Invalid, message: strings.Join(said, "; "), fields: slices.Clone(f)}
}

// Join returns the mistakes of several Invalid errors as one error; nil without an error. When
// several are about one field, only the first is kept: the others saw the zero value of a wrong
// one. An error of another kind is returned alone.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	var all Fields
	for _, err := range errs {
		if KindOf(err) != Invalid {
			return err
		}
		var own Fields
		own.Add("", err)
		all = append(all, slices.DeleteFunc(own, func(f FieldErrors) bool {
			return slices.ContainsFunc(all, func(known FieldErrors) bool { return known.Name == f.Name })
		})...)
	}
	return all.Err()
}

func join(outer, inner string) string {
	switch {
	case outer == "" || outer == inner:
		return inner
	case inner == "":
		return outer
	case strings.HasPrefix(inner, "["):
		return outer + inner
	}
	return outer + "." + inner
}

// List joins words with commas, for a message that names all of them.
func List[T ~string](words []T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, ", ")
}
