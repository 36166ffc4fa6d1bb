package events

import (
	"strings"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/schemas"
)

// ParseSchema checks the JSON Schema of an event's contexts, and the example, which must fit it. An empty text, or a schema that allows
// everything, `{}`, is none.
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

// CheckContext refuses a context that does not fit a schema, with all that is wrong with it.
func CheckContext(s *schemas.Schema, c Context) error {
	var faults fault.Fields
	for _, m := range s.Check(c) {
		faults.Addf("context", "%s", m)
	}
	return faults.Err()
}
