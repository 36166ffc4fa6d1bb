package app

import (
	"context"
	"errors"
	"sync"

	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/schemas"
)

// maxSchemaBytes is about how many bytes of compiled schemas are cached.
const maxSchemaBytes = 16 << 20

// schemaCache caches compiled schemas. It may be used concurrently. Organizations share none,
// because checks of one schema may wait for each other.
type schemaCache struct {
	mu    sync.Mutex
	known map[schemaOf]cachedSchema
	size  int
}

// schemaOf is the schema of an organization's event.
type schemaOf struct {
	org  orgs.ID
	text string
}

// cachedSchema is a compiled schema, or why it is refused.
type cachedSchema struct {
	*schemas.Schema

	err error
}

// get returns a schema.
func (c *schemaCache) get(of schemaOf) (*schemas.Schema, error) {
	c.mu.Lock()
	s, known := c.known[of]
	c.mu.Unlock()
	if known {
		return s.Schema, s.err
	}
	size := len(of.text)
	if s.Schema, s.err = schemas.Parse(of.text); s.err == nil {
		size = s.Size()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.size > maxSchemaBytes || c.known == nil {
		c.known, c.size = map[schemaOf]cachedSchema{}, size
	}
	c.known[of] = s
	return s.Schema, s.err
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
type uncheckedContext schemaOf

func (uncheckedContext) Error() string { return "the context is not checked yet" }

// withCheckedContexts runs a unit of work and, if it asks for that, runs it again after checking
// the contexts against a schema. The check may take a while, during which no lock on the database
// may be held. It ends between two contexts when ctx ends. Contexts do not fit a stored schema that
// is no longer accepted.
func (t *Triggers) withCheckedContexts(ctx context.Context, triggers []Trigger, run func(contextCheck) error) error {
	var check contextCheck
	for {
		err := run(check)
		of, is := errors.AsType[uncheckedContext](err)
		if !is {
			return err
		}
		check = contextCheck{schema: of.text, faults: make([]error, len(triggers))}
		if of.text == "" { // It was removed in the meantime.
			continue
		}
		s, err := t.schemas.get(schemaOf(of))
		for i, trigger := range triggers {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				check.faults[i] = events.UncheckedContext(err)
			} else {
				check.faults[i] = events.CheckContext(s, trigger.Context)
			}
		}
	}
}
