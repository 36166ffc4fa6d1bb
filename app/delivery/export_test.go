package delivery

import (
	"context"
	"time"

	"github.com/tocsin/tocsin/domain/channels"
	"github.com/tocsin/tocsin/domain/orgs"
)

// Places are the places of a worker.
type Places struct{ p *slotPool }

func NewPlaces(total int) Places { return Places{newSlotPool(total)} }

func (p Places) Acquire(ctx context.Context, org orgs.ID, c channels.ID) bool {
	return p.p.acquire(ctx, channelRef{org, c})
}

func (p Places) Release(org orgs.ID, c channels.ID) { p.p.release(channelRef{org, c}) }

// NextPage returns the size of the next page of an expansion.
func NextPage(wanted time.Duration, size, written int, took time.Duration) int {
	return nextPage(wanted, size, written, took)
}

// The times that a page of an expansion is to take.
const (
	PageTime      = pageTime
	LargePageTime = largePageTime
)

// SawCertificate notes a certificate as an attempt does.
func (w *Worker) SawCertificate(c channels.ID, ends time.Time) {
	w.certificates.record(c, ends, w.clock.Now())
}

// Cache is a onceCache of values whose size is 1.
type Cache struct{ c *onceCache[string, int] }

func NewCache(most, mostSize int) Cache { return Cache{newOnceCache[string, int](most, mostSize)} }

func (c Cache) Get(key string, with func() (int, error)) (int, error) { return c.c.get(key, 1, with) }

func (c Cache) Resize(key string, size int) { c.c.resize(key, size) }

func (c Cache) Has(key string) bool {
	_, has := c.c.made[key]
	return has
}
