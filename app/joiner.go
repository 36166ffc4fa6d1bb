package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tocsin/tocsin/ports"
)

const (
	// maxJoined is how many calls become one set at most.
	maxJoined = 64
	// joinWorkers is how many sets of one key are worked at at the same time: one waits for the store while the other is prepared.
	joinWorkers = 2
)

// joiner turns concurrent calls of a use case into sets, because a unit of work costs nearly the same for a set as for one. Nobody
// waits for company: who comes while no worker is busy is served at once, and those who come meanwhile form the next set.
type joiner[K comparable, C any] struct {
	// serve does the work of a whole set of calls, all or nothing, and leaves each answer in its call.
	serve func(ctx context.Context, key K, calls []*C) error
	// subject is what no two calls of a set may have in common.
	subject func(*C) string

	mu    sync.Mutex
	lines map[K]*line[C]
}

// line is those who wait to be served with the same key.
type line[C any] struct {
	waiting []*joined[C]
	workers int
}

// joined is a call and its caller.
type joined[C any] struct {
	ctx  context.Context //nolint:containedctx // It travels with its caller's call through the line.
	call *C
	done chan error
}

func newJoiner[K comparable, C any](serve func(context.Context, K, []*C) error, subject func(*C) string) *joiner[K, C] {
	return &joiner[K, C]{serve: serve, subject: subject, lines: map[K]*line[C]{}}
}

// do returns when the call has been served, or when ctx ends; then the call may still be kept, and its answer is not the caller's to read.
func (j *joiner[K, C]) do(ctx context.Context, key K, call *C) error {
	c := &joined[C]{ctx: ctx, call: call, done: make(chan error, 1)}
	j.mu.Lock()
	l := j.lines[key]
	if l == nil {
		l = &line[C]{}
		j.lines[key] = l
	}
	l.waiting = append(l.waiting, c)
	if l.workers < joinWorkers {
		l.workers++
		go j.work(key, l)
	}
	j.mu.Unlock()
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work serves set after set until nobody waits.
func (j *joiner[K, C]) work(key K, l *line[C]) {
	for set := j.next(key, l); len(set) > 0; set = j.next(key, l) {
		j.answer(key, set)
	}
}

// next takes a set from the line, in the order of coming. Who has the same subject as another of the set stays for the next one.
func (j *joiner[K, C]) next(key K, l *line[C]) []*joined[C] {
	j.mu.Lock()
	defer j.mu.Unlock()
	var set, rest []*joined[C]
	subjects := map[string]bool{}
	for _, c := range l.waiting {
		subject := j.subject(c.call)
		switch {
		case c.ctx.Err() != nil: // The caller has gone.
		case len(set) == maxJoined || subjects[subject]:
			rest = append(rest, c)
		default:
			set = append(set, c)
			subjects[subject] = true
		}
	}
	l.waiting = rest
	if len(set) == 0 {
		if l.workers--; l.workers == 0 {
			delete(j.lines, key)
		}
	}
	return set
}

// answer serves a set and tells its callers. When the set fails they are served one by one, so that nobody pays for another's
// fault; unless nobody can be served.
func (j *joiner[K, C]) answer(key K, set []*joined[C]) {
	err := j.attempt(key, set)
	if err != nil && !errors.Is(err, ports.ErrUnavailable) && len(set) > 1 {
		for _, c := range set {
			c.done <- j.attempt(key, []*joined[C]{c})
		}
		return
	}
	for _, c := range set {
		c.done <- err
	}
}

// attempt serves a set while any of its callers is there. A panic becomes an error, because here it would not find the caller
// it belongs to.
func (j *joiner[K, C]) attempt(key K, set []*joined[C]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, release := whileWanted(set)
	defer release()
	calls := make([]*C, len(set))
	for i, c := range set {
		calls[i] = c.call
	}
	return j.serve(ctx, key, calls)
}

// whileWanted returns a context that ends when all the callers' contexts have.
func whileWanted[C any](set []*joined[C]) (context.Context, context.CancelFunc) {
	if len(set) == 1 {
		return set[0].ctx, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wanted atomic.Int64
	wanted.Store(int64(len(set)))
	stops := make([]func() bool, len(set))
	for i, c := range set {
		stops[i] = context.AfterFunc(c.ctx, func() {
			if wanted.Add(-1) == 0 {
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
