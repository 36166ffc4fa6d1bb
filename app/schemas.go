package app

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/schemas"
)

// maxSchemaBytes is about how many bytes of compiled schemas are cached.
const maxSchemaBytes = 16 << 20

// schemaCache caches compiled schemas. It may be used concurrently.
type schemaCache struct {
	mu    sync.Mutex
	known map[string]*schemas.Schema // by their text
	size  int
}

// get returns the schema of a text.
func (c *schemaCache) get(text string) (*schemas.Schema, error) {
	c.mu.Lock()
	s := c.known[text]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := schemas.Parse(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += s.Size(); c.size > maxSchemaBytes || c.known == nil {
		c.known, c.size = map[string]*schemas.Schema{}, s.Size()
	}
	c.known[text] = s
	return s, nil
}

// contextCheck is the result of checking the contexts of several calls against a schema.
type contextCheck struct {
	schema string // empty: none
	faults []error
}

// fault refuses a call, with all errors of its context and its options; nil if there are none.
func (f contextCheck) fault(call int, unknown events.Unknown, optionFaults error) error {
	var faults fault.Fields
	if f.schema != "" {
		faults.Add("", f.faults[call])
	}
	faults.Add("", unknown.Fault())
	faults.Add("", optionFaults)
	return faults.Err()
}

// uncheckedContext ends a unit of work because contexts must be checked against this schema first.
type uncheckedContext string

func (uncheckedContext) Error() string { return "the context is not checked yet" }

// withCheckedContexts runs a unit of work and, if it asks for that, runs it again after checking
// the contexts against a schema. The check may take a while, during which no lock on the database
// may be held.
func (t *Triggers) withCheckedContexts(triggers []Trigger, run func(contextCheck) error) error {
	var check contextCheck
	for {
		err := run(check)
		schema, is := errors.AsType[uncheckedContext](err)
		if !is {
			return err
		}
		check = contextCheck{schema: string(schema), faults: make([]error, len(triggers))}
		if schema == "" { // It was removed in the meantime.
			continue
		}
		s, err := t.schemas.get(string(schema))
		if err != nil {
			return fmt.Errorf("the schema of an event cannot be read: %s", err.Error())
		}
		for i, trigger := range triggers {
			check.faults[i] = events.CheckContext(s, trigger.Context)
		}
	}
}
