package delivery

import (
	"sync"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
)

// occurrenceCache keeps the occurrences of claimed deliveries for all senders, so that most are
// read once. Occurrences never change. It has two generations: when the young one is full, it
// replaces the old one. An occurrence in use moves to the young one. It is safe for concurrent use.
type occurrenceCache struct {
	mu         sync.Mutex
	young, old map[events.OccurrenceID]events.Occurrence
	size       int // of the young generation, in bytes
}

const (
	// maxGeneration is how many bytes a generation of an occurrenceCache holds. A claim fits in it,
	// unless its occurrences name very many recipients.
	maxGeneration = deliveries.ClaimBytes + claimMax*occurrenceBytes
	// occurrenceBytes is about how much an occurrence takes without its context.
	occurrenceBytes = 512
	nameBytes       = 24 // of a recipient that it names, beside the characters
)

func newOccurrenceCache() *occurrenceCache {
	return &occurrenceCache{young: map[events.OccurrenceID]events.Occurrence{}}
}

// get returns an occurrence and reports whether it is cached.
func (c *occurrenceCache) get(id events.OccurrenceID) (o events.Occurrence, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, known = c.young[id]; known {
		return o, true
	}
	if o, known = c.old[id]; known {
		c.keep(o)
	}
	return o, known
}

// add adds occurrences.
func (c *occurrenceCache) add(all ...events.Occurrence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range all {
		c.keep(o)
	}
}

// take adds the occurrences that came with claimed jobs, and removes them from the jobs, which may
// wait for long.
func (c *occurrenceCache) take(jobs []deliveries.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, j := range jobs {
		if j.Of != nil {
			c.keep(*j.Of)
			jobs[i].Of = nil
		}
	}
}

// keep adds an occurrence to the young generation. The caller holds mu.
func (c *occurrenceCache) keep(o events.Occurrence) {
	if _, known := c.young[o.ID]; known {
		return
	}
	size := occurrenceBytes + len(o.Context)
	for _, name := range o.Options.LimitTo {
		size += nameBytes + len(name)
	}
	if c.size > 0 && c.size+size > maxGeneration {
		c.young, c.old, c.size = map[events.OccurrenceID]events.Occurrence{}, c.young, 0
	}
	c.young[o.ID] = o
	c.size += size
}

// clear drops all occurrences.
func (c *occurrenceCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.size = map[events.OccurrenceID]events.Occurrence{}, nil, 0
}
