// Package batch groups concurrent calls into batches, because a unit of work costs nearly the same
// for a batch as for one call. It knows nothing about the calls.
package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tocsin/tocsin/ports"
)

// MaxSize is the largest number of calls in a batch.
const MaxSize = 64

// MaxWeight is the largest weight of a batch, unless a single call weighs more.
const MaxWeight = 5_000

// maxStack is how much of the stack of a panic is kept, in bytes.
const maxStack = 16 << 10

// Workers is how many batches of one key run at the same time.
type Workers int

const (
	// Single is for long writes to a store with one writer: a second batch would only wait for the
	// first one, and both would be smaller.
	Single Workers = 1
	// Pair is for the others: one batch waits for the store while the next one is prepared.
	Pair Workers = 2
)

// Batcher groups calls of the same key into batches. A call never waits for others to arrive: it
// runs at once while a worker is free. Calls that arrive while all workers are busy form the next
// batch. It is safe for concurrent use.
type Batcher[K comparable, C any] struct {
	serve   func(ctx context.Context, key K, calls []*C) error
	subject func(*C) string
	weight  func(*C) int
	limit   Workers

	units, calls atomic.Int64

	mu     sync.Mutex
	queues map[K]*queue[C]
}

// queue holds the waiting calls of one key.
type queue[C any] struct {
	waiting []*entry[C]
	workers Workers
}

// entry is a waiting call with its caller.
type entry[C any] struct {
	ctx  context.Context //nolint:containedctx // It is the caller's, and travels with the call.
	call *C
	done chan error
}

// New returns a batcher with so many workers. serve does the work of a whole batch, all or nothing,
// and stores each result in its call. Two calls with the same subject are never in one batch; an
// empty subject equals no other. weight returns how many rows a call looks up; nil: only a few.
func New[K comparable, C any](workers Workers, serve func(context.Context, K, []*C) error, subject func(*C) string, weight func(*C) int) *Batcher[K, C] {
	if weight == nil {
		weight = func(*C) int { return 0 }
	}
	return &Batcher[K, C]{limit: workers, serve: serve, subject: subject, weight: weight, queues: map[K]*queue[C]{}}
}

// Do runs a call in a batch and returns its error. When ctx ends first, the call may still be
// committed, and its result must not be read.
func (b *Batcher[K, C]) Do(ctx context.Context, key K, call *C) error {
	if _, within := ports.Unit(ctx); within { // It belongs to that unit, not to a batch of other calls.
		b.units.Add(1)
		b.calls.Add(1)
		return b.serve(ctx, key, []*C{call})
	}
	e := &entry[C]{ctx: ctx, call: call, done: make(chan error, 1)}
	b.mu.Lock()
	q := b.queues[key]
	if q == nil {
		q = &queue[C]{}
		b.queues[key] = q
	}
	q.waiting = append(q.waiting, e)
	if q.workers < b.limit {
		q.workers++
		go b.work(key, q)
	}
	b.mu.Unlock()
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Served returns how many units of work there were, and how many calls they served.
func (b *Batcher[K, C]) Served() (units, calls int64) { return b.units.Load(), b.calls.Load() }

// work runs batches until no call waits.
func (b *Batcher[K, C]) work(key K, q *queue[C]) {
	for batch := b.next(key, q); len(batch) > 0; batch = b.next(key, q) {
		b.finish(key, batch)
	}
}

// next removes a batch from the queue, in the order of arrival. A call whose subject is already in
// the batch, or that is too heavy for it, stays for the next one.
func (b *Batcher[K, C]) next(key K, q *queue[C]) []*entry[C] {
	b.mu.Lock()
	defer b.mu.Unlock()
	var batch, rest []*entry[C]
	subjects, left := map[string]bool{}, MaxWeight
	for _, e := range q.waiting {
		subject, weight := b.subject(e.call), b.weight(e.call)
		switch {
		case e.ctx.Err() != nil: // The caller has gone.
		case len(batch) == MaxSize || subject != "" && subjects[subject] || len(batch) > 0 && weight > left:
			rest = append(rest, e)
		default:
			batch = append(batch, e)
			subjects[subject] = true
			left -= weight
		}
	}
	q.waiting = rest
	if len(batch) == 0 {
		if q.workers--; q.workers == 0 {
			delete(b.queues, key)
		}
	}
	return batch
}

// finish runs a batch and answers its callers. When the batch fails, its calls run one by one, so
// that no call fails because of another one; except when the store is not available at all.
func (b *Batcher[K, C]) finish(key K, batch []*entry[C]) {
	err := b.attempt(key, batch)
	if err != nil && !errors.Is(err, ports.ErrUnavailable) && len(batch) > 1 {
		for _, e := range batch {
			e.done <- b.attempt(key, []*entry[C]{e})
		}
		return
	}
	for _, e := range batch {
		e.done <- err
	}
}

// attempt runs a batch once. It turns a panic into an error with its stack, which reaches the
// callers.
func (b *Batcher[K, C]) attempt(key K, batch []*entry[C]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, maxStack)
			err = fmt.Errorf("panic: %v\n%s", p, stack[:runtime.Stack(stack, false)])
		}
	}()
	b.units.Add(1)
	b.calls.Add(int64(len(batch)))
	ctx, release := mergeContexts(batch)
	defer release()
	ctx, span := beginSpan(ports.Small(ctx), batch)
	defer func() { span.End(err != nil) }()
	calls := make([]*C, len(batch))
	for i, e := range batch {
		calls[i] = e.call
	}
	return b.serve(ctx, key, calls)
}

// beginSpan begins the span of a batch: a child of the first call that is traced, linked to the
// others.
func beginSpan[C any](ctx context.Context, batch []*entry[C]) (context.Context, ports.Span) {
	var first ports.Span
	start := ports.SpanStart{Name: "batch"}
	for _, e := range batch {
		switch s := ports.SpanOf(e.ctx); {
		case !s.Recorded():
		case first == nil:
			first = s
		default:
			start.Links = append(start.Links, s.Traceparent())
		}
	}
	if first == nil {
		return ctx, ports.SpanOf(context.Background())
	}
	ctx, span := first.Begin(ctx, start)
	span.Number("tocsin.batch.calls", int64(len(batch)))
	return ctx, span
}

// mergeContexts returns a context that ends when the contexts of all callers have ended. Its units
// of work are those of their organization, if it is one.
func mergeContexts[C any](batch []*entry[C]) (context.Context, context.CancelFunc) {
	if len(batch) == 1 {
		return batch[0].ctx, func() {}
	}
	organization := ports.OrganizationOf(batch[0].ctx)
	if slices.ContainsFunc(batch, func(e *entry[C]) bool { return ports.OrganizationOf(e.ctx) != organization }) {
		organization = ""
	}
	ctx, cancel := context.WithCancel(ports.ForOrganization(context.Background(), organization))
	var left atomic.Int64
	left.Store(int64(len(batch)))
	stops := make([]func() bool, len(batch))
	for i, e := range batch {
		stops[i] = context.AfterFunc(e.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
