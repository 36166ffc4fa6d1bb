package app

import (
	"context"
	"errors"

	"github.com/tocsin/tocsin/domain/events"
)

// parsedSchemas are the results of parsing the schemas in the forms of one call.
type parsedSchemas map[unparsedSchema]parsedSchema

// parsedSchema is the result of events.ParseSchema.
type parsedSchema struct {
	text string
	err  error
}

// unparsedSchema ends a unit of work because a schema must be parsed first, and checked against
// an example.
type unparsedSchema struct{ schema, example string }

func (unparsedSchema) Error() string { return "the schema is not parsed yet" }

// parsedKey is the context key of parsedSchemas.
type parsedKey struct{}

// withParsedSchemas calls run. If parseSchema needs a schema that is not parsed yet, it parses the
// schema and calls run again. Parsing may take a while, so no lock on the database may be held. A
// nested call leaves this to the outer one.
func withParsedSchemas(ctx context.Context, run func(context.Context) error) error {
	if _, within := ctx.Value(parsedKey{}).(parsedSchemas); within {
		return run(ctx)
	}
	known := parsedSchemas{}
	ctx = context.WithValue(ctx, parsedKey{}, known)
	for {
		err := run(ctx)
		form, is := errors.AsType[unparsedSchema](err)
		if !is {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text, err := events.ParseSchema("context_schema", form.schema, form.example)
		known[form] = parsedSchema{text, err}
	}
}

// unparsed returns an unparsedSchema if the schema of the form of a new event is not parsed yet.
func unparsed(ctx context.Context, f EventForm) error {
	example, err := events.ParseExample("example", f.Example)
	if err != nil { // The schema is not checked against it.
		return nil //nolint:nilerr // The form is refused later, with all of its mistakes.
	}
	_, err = parseSchema(ctx, events.Event{}, f, example)
	if form, is := errors.AsType[unparsedSchema](err); is {
		return form
	}
	return nil
}

// parseSchema returns the schema of a form whose example is checked. It is parsed only if it or the
// example changes, or the event becomes active, because limits of schemas may have become tighter
// since it was stored.
func parseSchema(ctx context.Context, was events.Event, f EventForm, example string) (string, error) {
	same := f.Schema == was.Schema && example == was.Example && (was.Active || !f.Active)
	if f.Schema == "" || same {
		return f.Schema, nil
	}
	form := unparsedSchema{f.Schema, example}
	known, _ := ctx.Value(parsedKey{}).(parsedSchemas)
	parsed, is := known[form]
	if !is {
		return "", form
	}
	return parsed.text, parsed.err
}
