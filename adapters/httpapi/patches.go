package httpapi

import (
	"github.com/tocsin/tocsin/adapters/httpapi/jsonbody"
	"github.com/tocsin/tocsin/domain/fault"
)

// optional reads an optional member; nil if it is absent or null, so that the value is not changed.
func optional[T any](body *jsonbody.Object, name string, read func(name string) T) *T {
	if !body.Has(name) || body.Null(name) {
		return nil
	}
	return new(read(name))
}

// optionalText reads an optional member that is a text; nil if it is absent, null or blank.
func optionalText(body *jsonbody.Object, name string) *string {
	text := optional(body, name, body.String)
	if text != nil && *text == "" {
		return nil
	}
	return text
}

// boolReader returns a reader for boolean members.
func boolReader(body *jsonbody.Object) func(name string) bool {
	return func(name string) bool { return body.Bool(name, false) }
}

// set assigns a value if one was sent.
func set[T any](to *T, sent *T) {
	if sent != nil {
		*to = *sent
	}
}

// ids reads a member that must be an array of 1 to most ids.
func ids[T ~int64](body *jsonbody.Object, name string, most int) []T {
	sent := body.Integers(name)
	if body.Err() == nil && (len(sent) == 0 || len(sent) > most) {
		body.Check(fault.Field(name, "must be an array of 1 to %d ids", most))
	}
	all := make([]T, len(sent))
	for i, id := range sent {
		all[i] = T(id)
	}
	return all
}
