package app

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/schemas"
)

// roomForSchemas is about how many bytes of compiled schemas are cached.
const roomForSchemas = 16 << 20

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
	if c.size += s.Size(); c.size > roomForSchemas || c.known == nil {
		c.known, c.size = map[string]*schemas.Schema{}, s.Size()
	}
	c.known[text] = s
	return s, nil
}

// contextFit is the result of checking the contexts of several calls against a schema.
type contextFit struct {
	schema string // empty: none
	faults []error
}

// fault refuses a call, with all errors of its context and its options; nil if there are none.
func (f contextFit) fault(call int, unknown events.Unknown, untimely error) error {
	var faults fault.Fields
	if f.schema != "" {
		faults.Add("", f.faults[call])
	}
	faults.Add("", unknown.Fault())
	faults.Add("", untimely)
	return faults.Err()
}

// uncheckedContext ends a unit of work because contexts must be checked against this schema first.
type uncheckedContext string

func (uncheckedContext) Error() string { return "the context is not checked yet" }

// fitting runs a unit of work and, if it asks for that, runs it again after checking the contexts
// against a schema. The check may take a while, during which no lock on the database may be held.
func (t *Triggers) fitting(whats []Trigger, run func(contextFit) error) error {
	var fit contextFit
	for {
		err := run(fit)
		schema, is := errors.AsType[uncheckedContext](err)
		if !is {
			return err
		}
		fit = contextFit{schema: string(schema), faults: make([]error, len(whats))}
		if schema == "" { // It was removed in the meantime.
			continue
		}
		s, err := t.schemas.get(string(schema))
		if err != nil {
			return fmt.Errorf("the schema of an event cannot be read: %s", err.Error())
		}
		for i, what := range whats {
			fit.faults[i] = events.CheckContext(s, what.Context)
		}
	}
}
