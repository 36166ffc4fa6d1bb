package delivery

import (
	"context"
	"sync"

	"github.com/tocsin/tocsin/domain/deliveries"
	"github.com/tocsin/tocsin/domain/events"
	"github.com/tocsin/tocsin/domain/subscriptions"
)

// renderCacheBytes bounds a render cache, in bytes of contexts and templates: one context may have a megabyte.
const renderCacheBytes = 4 << 20

// renderCache keeps what many deliveries of a sender share, so that it is read once. It is safe for concurrent use.
type renderCache struct {
	queue deliveries.Queue

	mu    sync.Mutex
	known map[renderKey]deliveries.RenderInput
	size  int
}

type renderKey struct {
	occurrence   events.OccurrenceID
	notification subscriptions.NotificationID
	template     events.TemplateID
}

func newRenderCache(q deliveries.Queue) *renderCache {
	return &renderCache{queue: q, known: map[renderKey]deliveries.RenderInput{}}
}

// get returns what a job's message is rendered from. Callers that ask for the same at once wait until one of them has read it.
func (c *renderCache) get(ctx context.Context, j deliveries.Job) (deliveries.RenderInput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := renderKey{j.Occurrence, j.Notification, j.Template}
	if in, known := c.known[key]; known {
		return in, nil
	}
	in, err := c.queue.RenderInput(ctx, j.Occurrence, j.Notification, j.Template)
	if err != nil {
		return deliveries.RenderInput{}, err
	}
	size := len(in.Occurrence.Context) + len(in.Template.Text) + len(in.Template.HTML)
	if c.size+size > renderCacheBytes {
		c.drop()
	}
	c.known[key] = in
	c.size += size
	return in, nil
}

// clear makes everything be read anew.
func (c *renderCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

func (c *renderCache) drop() {
	clear(c.known)
	c.size = 0
}
