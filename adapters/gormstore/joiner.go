package gormstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tocsin/tocsin/domain/fault"
	"github.com/tocsin/tocsin/domain/orgs"
	"github.com/tocsin/tocsin/domain/users"
)

// maxJoined is how many single enrollments become one set at most.
const maxJoined = 64

// joiner turns the single enrollments of concurrent callers (POST) into sets, which cost a fraction of what as many units of work
// do. Nobody waits for company: whoever is waiting when a worker becomes free forms the set, and a caller who comes alone is served at once.
type joiner struct {
	queue   chan *joined
	workers sync.WaitGroup
	enroll  func(context.Context, string, users.Batch) ([]users.Enrolled, error)
}

// joined is one caller.
type joined struct {
	ctx   context.Context //nolint:containedctx // It travels with its caller's call through the queue.
	place joinedPlace
	one   users.Enrollment
	done  chan joinedAnswer
}

// joinedPlace is what the enrollments of a set have in common.
type joinedPlace struct {
	org   string
	group orgs.GroupID
}

type joinedAnswer struct {
	enrolled users.Enrolled
	err      error
}

// joinable tells whether a batch may share a set with others. A merge may not: within a set only the first enrollment
// of a key counts, but of two callers who merge both want their fields kept. Nor may what is to be undone.
func joinable(b users.Batch) bool { return len(b.Enrollments) == 1 && !b.MergeFields && !b.DryRun }

func startJoiner(workers int, enroll func(context.Context, string, users.Batch) ([]users.Enrolled, error)) *joiner {
	j := &joiner{queue: make(chan *joined), enroll: enroll}
	for range workers {
		j.workers.Go(j.work)
	}
	return j
}

// stop ends the workers. Nobody may be waiting or come later.
func (j *joiner) stop() {
	close(j.queue)
	j.workers.Wait()
}

func (j *joiner) do(ctx context.Context, org string, b users.Batch) ([]users.Enrolled, error) {
	c := &joined{ctx: ctx, place: joinedPlace{org, b.Group}, one: b.Enrollments[0], done: make(chan joinedAnswer, 1)}
	select {
	case j.queue <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-c.done:
		if a.err != nil {
			return nil, a.err
		}
		return []users.Enrolled{a.enrolled}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (j *joiner) work() {
	for first := range j.queue {
		sets := map[joinedPlace][]*joined{first.place: {first}}
	collect:
		for n := 1; n < maxJoined; n++ {
			select {
			case c, open := <-j.queue:
				if !open {
					break collect
				}
				sets[c.place] = append(sets[c.place], c)
			default:
				break collect
			}
		}
		for place, callers := range sets {
			j.serve(place, callers)
		}
	}
}

// serve writes one set and answers its callers. When the set fails they are tried one by one, so that nobody pays for
// another's fault; unless it is everybody's, such as a database that is away or an organization that does not exist.
func (j *joiner) serve(place joinedPlace, callers []*joined) {
	callers = slices.DeleteFunc(callers, func(c *joined) bool { return c.ctx.Err() != nil })
	if len(callers) == 0 {
		return
	}
	batch := users.Batch{Enrollments: make([]users.Enrollment, len(callers)), Group: place.group}
	for i, c := range callers {
		batch.Enrollments[i] = c.one
	}
	ctx, release := whileWanted(callers)
	enrolled, err := j.enroll(ctx, place.org, batch)
	release()
	if _, said := errors.AsType[*fault.Error](translated(err)); err != nil && !said && len(callers) > 1 {
		for _, c := range callers {
			j.serve(place, []*joined{c})
		}
		return
	}
	for i, c := range callers {
		if err != nil {
			c.done <- joinedAnswer{err: err}
			continue
		}
		c.done <- joinedAnswer{enrolled: enrolled[i]}
	}
}

// whileWanted returns a context that ends when all the callers' contexts have.
func whileWanted(callers []*joined) (context.Context, context.CancelFunc) {
	if len(callers) == 1 {
		return callers[0].ctx, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wanted atomic.Int64
	wanted.Store(int64(len(callers)))
	stops := make([]func() bool, len(callers))
	for i, c := range callers {
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
