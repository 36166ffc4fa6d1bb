package events

import (
	"encoding/json"
	"strings"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/schemas"
	"github.com/tocsin/tocsin/domain/templates"
	"github.com/tocsin/tocsin/domain/users"
)

// ParseSchema checks the JSON Schema of an event's contexts, and the example, which must fit it. An
// empty text, or a schema that allows everything, `{}`, is none.
func ParseSchema(field, text, example string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "{}" {
		return "", nil
	}
	if err := checkText(text, schemas.MaxBytes); err != nil {
		return "", fault.Field(field, "%s", err.Error())
	}
	s, err := schemas.Parse(text)
	if err != nil {
		return "", fault.Field(field, "%s", err.Error())
	}
	if example == "" {
		return text, nil
	}
	var faults fault.Fields
	for _, m := range s.Check([]byte(example)) {
		faults.Addf("example", "does not fit the schema: %s", m)
	}
	return text, faults.Err()
}

// CheckContext refuses a context that does not fit a schema; the error names all mistakes.
func CheckContext(s *schemas.Schema, c Context) error {
	var faults fault.Fields
	for _, m := range s.Check(c) {
		faults.AddAs(ErrContext, "context", "%s", m)
	}
	return faults.Err()
}

// UncheckedContext returns the error of a context whose stored schema is no longer accepted, for
// example because a limit has become tighter.
func UncheckedContext(refusal error) error {
	var faults fault.Fields
	faults.AddAs(ErrContext, "context", "cannot be checked until the schema of the event is changed: the schema %s", refusal.Error())
	return faults.Err()
}

// Variables returns the shape of the data for the templates of an event with this schema of
// contexts; an empty schema allows any context, and so does a stored one that is no longer
// accepted.
func Variables(schema string) *templates.Shape {
	context := &templates.Shape{Open: true}
	if schema != "" {
		if s, err := schemas.Parse(schema); err == nil {
			if known := s.Shape(); known != nil {
				context = known
			}
		}
	}
	object := func(names ...string) *templates.Shape {
		o := templates.Object(map[string]*templates.Shape{})
		for _, n := range names {
			o.Members[n] = templates.Scalar()
		}
		return o
	}
	user := object(append(users.DetailNames(), "username")...)
	user.Members["custom_fields"] = &templates.Shape{Open: true}
	return templates.Object(map[string]*templates.Shape{
		"context": context, "user": user, "event": object("name", "slug", "description"),
		"application": object("name", "slug"), "project": object("name", "slug"), "organization": object("name", "slug"),
		"occurrence": object("id", "created", "correlation_id"), "address": templates.Scalar(), "channel": object("name", "protocol"),
	})
}

// Tags returns the Mustache tags of the event's variables: of those in its schema or, without a
// schema, in its example.
func (e Event) Tags() ([]string, error) {
	known := Variables(e.Schema)
	if e.Schema == "" && e.Example != "" {
		var example any
		if err := json.Unmarshal([]byte(e.Example), &example); err != nil {
			return nil, err
		}
		known.Members["context"] = templates.ShapeOf(example)
	}
	return known.Tags(), nil
}

// CheckTemplate refuses a template of the event that the protocol of its channel does not support,
// or that uses unknown variables; the error names part, line and variable. The partials are those
// of its organization.
func (e Event) CheckTemplate(t Template, of channels.Protocol, with Partials) error {
	return with.Checker().Check(e, t, of)
}

// Checker checks templates that use the same partials. It parses each partial once, and a schema
// once for the templates that follow each other and belong to it.
type Checker struct {
	parser *templates.Parser
	schema *string // of the variables that are known
	known  *templates.Shape
	work   int // bytes of schemas, each of which takes about as long as a piece of a template
}

// Checker returns a checker of templates that use these partials.
func (all Partials) Checker() *Checker { return &Checker{parser: templates.NewParser(all.Bodies())} }

// Check is Event.CheckTemplate.
func (c *Checker) Check(e Event, t Template, of channels.Protocol) error {
	parsed, known, err := c.read(e, t, of)
	if err != nil {
		return err
	}
	return parsed.Check(known)
}

// Fits reports whether Check returns no error. It is faster for a template that is refused.
func (c *Checker) Fits(e Event, t Template, of channels.Protocol) bool {
	parsed, known, err := c.read(e, t, of)
	return err == nil && parsed.Fits(known)
}

func (c *Checker) read(e Event, t Template, of channels.Protocol) (*templates.Template, *templates.Shape, error) {
	if err := t.CheckChannel(of); err != nil {
		return nil, nil, err
	}
	parsed, err := c.parser.Parse(t.Source())
	if err != nil {
		return nil, nil, err
	}
	if c.schema == nil || *c.schema != e.Schema {
		c.work += len(e.Schema)
		c.schema, c.known = &e.Schema, Variables(e.Schema)
	}
	return parsed, c.known, nil
}

// CheckPartial is that of templates.Parser.
func (c *Checker) CheckPartial(name string) error { return c.parser.CheckPartial(name) }

// Work returns the work so far, in pieces of templates.
func (c *Checker) Work() int { return c.parser.Work() + c.work }
