package delivery

import (
	"context"
	"maps"
	"sync"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// renderCache keeps what many deliveries of a sender share, so that it is read once: the inputs of
// a message other than its occurrence, which are trusted until clear. It is safe for concurrent
// use.
type renderCache struct {
	queue       deliveries.Queue
	occurrences *occurrenceCache // of all senders

	mu        sync.Mutex
	inputs    map[inputKey]deliveries.RenderInput // their occurrences have no context
	templates int                                 // their bytes, at most maxCachedTemplates
}

// maxCachedTemplates is how many bytes of templates a render cache holds.
const maxCachedTemplates = 2 << 20

type inputKey struct {
	event        events.ID
	notification subscriptions.NotificationID
	template     events.TemplateID
}

func newRenderCache(q deliveries.Queue, occurrences *occurrenceCache) *renderCache {
	return &renderCache{queue: q, occurrences: occurrences, inputs: map[inputKey]deliveries.RenderInput{}}
}

// prefetch reads the occurrences of claimed jobs that are not cached yet. After an error get reads
// the missing ones.
func (c *renderCache) prefetch(ctx context.Context, jobs []deliveries.Job) error {
	var wanted []events.OccurrenceID
	seen := map[events.OccurrenceID]bool{}
	for _, j := range jobs {
		if seen[j.Occurrence] {
			continue
		}
		seen[j.Occurrence] = true
		if _, known := c.occurrences.get(j.Occurrence); !known {
			wanted = append(wanted, j.Occurrence)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	found, err := c.queue.Occurrences(ctx, wanted)
	if err != nil {
		return err
	}
	c.occurrences.add(found...)
	return nil
}

// get returns the inputs of a job's message. Concurrent callers that ask for the same inputs wait
// until one of them has read them.
func (c *renderCache) get(ctx context.Context, j deliveries.Job) (deliveries.RenderInput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, known := c.occurrences.get(j.Occurrence)
	if !known {
		found, err := c.queue.Occurrences(ctx, []events.OccurrenceID{j.Occurrence})
		if err != nil {
			return deliveries.RenderInput{}, err
		}
		if len(found) == 0 {
			return deliveries.RenderInput{}, deliveries.ErrNotFound
		}
		o = found[0]
		c.occurrences.add(o)
	}
	key := inputKey{j.Event, j.Notification, j.Template}
	in, known := c.inputs[key]
	if !known {
		var err error
		if in, err = c.queue.RenderInput(ctx, o, j.Notification, j.Template); err != nil {
			return deliveries.RenderInput{}, err
		}
		c.put(key, in)
	}
	in.Occurrence = o
	return in, nil
}

// maxRenewedInputs is how many inputs are read again before they are needed.
const maxRenewedInputs = 4

// shared returns the inputs that are cached if they are few.
func (c *renderCache) shared() map[inputKey]deliveries.RenderInput {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inputs) > maxRenewedInputs {
		return nil
	}
	return maps.Clone(c.inputs)
}

// renew reads inputs that were cached again.
func (c *renderCache) renew(ctx context.Context, were map[inputKey]deliveries.RenderInput) error {
	for key, in := range were {
		in, err := c.queue.RenderInput(ctx, in.Occurrence, key.notification, key.template)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.put(key, in)
		c.mu.Unlock()
	}
	return nil
}

// put adds inputs. It drops all others when they would exceed the bytes.
func (c *renderCache) put(key inputKey, in deliveries.RenderInput) {
	size := len(in.Template.Text) + len(in.Template.HTML) + len(in.Template.Markdown)
	for _, p := range in.Partials {
		size += len(p.Text) + len(p.HTML)
	}
	if c.templates += size; c.templates > maxCachedTemplates {
		clear(c.inputs)
		c.templates = size
	}
	in.Occurrence.Context, in.Occurrence.Options.LimitTo = nil, nil // They may be large, and get has them.
	c.inputs[key] = in
}

// clear drops everything that may have changed, so that it is read again.
func (c *renderCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.inputs)
	c.templates = 0
}
